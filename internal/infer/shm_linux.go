package infer

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// makeShared makes size bytes of memory that can be mapped elsewhere too. Its
// length is sealed: a process that cut it would kill the other by SIGBUS.
func makeShared(size int64) (mem []byte, f *os.File, err error) {
	fd, err := unix.MemfdCreate("ascendctl", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("memfd_create: %w", err)
	}
	f = os.NewFile(uintptr(fd), "shared memory")
	if err = f.Truncate(size); err == nil {
		if _, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err == nil {
			mem, err = mapShared(f, size)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return mem, f, nil
}

// openShared maps what makeShared made, in another process.
func openShared(f *os.File, size int64) ([]byte, error) {
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("its length is not sealed: seals %#x, %v", seals, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if size <= 0 || info.Size() != size {
		return nil, fmt.Errorf("it has %d bytes, expected %d", info.Size(), size)
	}
	return mapShared(f, size)
}

func mapShared(f *os.File, size int64) ([]byte, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", size, err)
	}
	return mem, nil
}

func unmapShared(mem []byte) { _ = unix.Munmap(mem) }

// sendFile sends a block and a file with it.
func sendFile(c *net.UnixConn, block []byte, f *os.File) error {
	n, _, err := c.WriteMsgUnix(block, unix.UnixRights(int(f.Fd())), nil)
	if err == nil && n < len(block) {
		_, err = c.Write(block[n:])
	}
	return err
}

// receiveFile fills block and gives the file that came with it, or nil.
func receiveFile(c *net.UnixConn, block []byte) (*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, flags, _, err := c.ReadMsgUnix(block, oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	var f *os.File
	if oobn > 0 {
		f = fileOf(oob[:oobn])
	}
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = errors.New("more than one file came along")
	}
	if err == nil {
		_, err = io.ReadFull(c, block[n:])
	}
	if err != nil && f != nil {
		_ = f.Close()
		f = nil
	}
	return f, err
}

func fileOf(oob []byte) *os.File {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return nil
	}
	for _, more := range fds[1:] {
		_ = unix.Close(more)
	}
	return os.NewFile(uintptr(fds[0]), "shared memory")
}
