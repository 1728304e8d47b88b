//go:build unix

package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile waits for the only write lock of f; closing f gives it back.
func lockFile(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}
