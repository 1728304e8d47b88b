//go:build unix

package install

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// diskFree is what an ordinary user may still write on the disk of dir, bytes.
func diskFree(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// fetchLock takes the only write lock of f, false when another process has it;
// closing f gives it back.
func fetchLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default: // a file system without locks
			return true, nil
		}
	}
}
