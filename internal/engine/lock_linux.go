package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// LockDevices takes the lock of every device, or of none. The lock is the
// kernel's, so it ends with its holder; the file only says who that is. A
// *report.Problem names a holder.
func LockDevices(o LockOptions) (*Locks, error) {
	self, err := readStat("self")
	if err != nil {
		return nil, err
	}
	o.Holder.PID, o.Holder.Start = self.pid, self.start
	l := &Locks{alone: !o.Share}
	devices := slices.Compact(slices.Sorted(slices.Values(o.Devices))) // one order for all: no two wait for each other
	for _, device := range devices {
		if err := l.lock(device, o); err != nil {
			_ = l.Close()
			return nil, err
		}
	}
	return l, nil
}

// lock takes the lock of a device in every folder that has one; at least one
// must be ours to write.
func (l *Locks) lock(device int, o LockOptions) error {
	first, file, named := errors.New("no folder can be written"), "", false
	for _, dir := range o.Dirs {
		at := filepath.Join(dir, fmt.Sprintf("device-%d.lock", device))
		f, writable, err := openLock(at)
		if err != nil {
			if file == "" {
				first, file = err, at
			}
			continue
		}
		if err := l.take(f, device, o, writable); err != nil {
			_ = f.Close()
			return err
		}
		l.files = append(l.files, f)
		named = named || writable
	}
	if !named {
		return noLock(file, first)
	}
	return nil
}

// openLock opens a lock file for writing, or for reading where that is all we
// may: a lock needs no more. Links are not followed: the folder may be one in
// which others write.
func openLock(at string) (f *os.File, writable bool, err error) {
	mkErr := os.MkdirAll(filepath.Dir(at), 0o755)
	f, err = os.OpenFile(at, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
	writable = err == nil
	if err != nil {
		if f, _ = os.OpenFile(at, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); f == nil {
			return nil, false, errors.Join(mkErr, err)
		}
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		_ = f.Close()
		return nil, false, fmt.Errorf("%s is not a regular file", at)
	}
	return f, writable, nil
}

func (l *Locks) take(f *os.File, device int, o LockOptions, writable bool) error {
	how := unix.LOCK_EX
	if o.Share {
		how = unix.LOCK_SH
	}
	err := flock(f, how|unix.LOCK_NB)
	data, _ := io.ReadAll(io.LimitReader(f, maxRecord))
	living, dead := sortOut(parseHolders(data))
	switch {
	case err == unix.EWOULDBLOCK:
		return taken(device, f.Name(), living, dead, lockOwner(f), o.Share)
	case err != nil:
		return noLock(f.Name(), err)
	}
	l.Stale = append(l.Stale, dead...)
	if !writable {
		return nil
	}
	if !o.Share {
		living = nil // holding it alone, nobody else can be in there
	}
	return write(f, append(living, o.Holder))
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// lockOwner is the process that the kernel names as owner of a lock of the file
// (/proc/locks: "1: FLOCK ADVISORY WRITE 4711 fe:01:1234 0 EOF"); 0 when it
// names none that lives here. Only the inode is compared: layered file systems
// show another device there than to stat.
func lockOwner(f *os.File) int {
	st, err := f.Stat()
	if err != nil {
		return 0
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	data, _ := os.ReadFile("/proc/locks") // not there: nobody is named
	for line := range strings.Lines(string(data)) {
		w := strings.Fields(line)
		if len(w) < 6 || w[1] != "FLOCK" || !strings.HasSuffix(w[5], fmt.Sprintf(":%d", sys.Ino)) {
			continue
		}
		if pid, err := strconv.Atoi(w[4]); err == nil && pid > 0 {
			if was, err := readStat(w[4]); err == nil && !was.dead() {
				return pid
			}
		}
	}
	return 0
}

// sortOut tells holders that live from those whose id is gone or belongs to
// another process by now.
func sortOut(all []Holder) (living, dead []Holder) {
	for _, h := range all {
		st, err := readStat(strconv.Itoa(h.PID))
		if err == nil && st.start == h.Start && !st.dead() {
			living = append(living, h)
		} else {
			dead = append(dead, h)
		}
	}
	return living, dead
}

func write(f *os.File, all []Holder) error {
	var b bytes.Buffer
	for _, h := range all {
		line, err := json.Marshal(h)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(b.Bytes(), 0)
	return err
}
