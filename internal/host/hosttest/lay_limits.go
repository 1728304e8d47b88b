//go:build linux

package hosttest

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limits are options of prlimit(1) for the soft limits of the description. Root
// in a container may not raise hard limits: what lies above them is told to
// those who read /proc/self/limits, and not given.
func (b *layout) limits() (options []string) {
	u := b.d.Facts.Ulimits
	if u == nil {
		return nil
	}
	var table strings.Builder
	for _, one := range []struct {
		option, title, value string
		unit                 uint64
		resource             int
	}{
		{"nofile", "Max open files", u.Nofile, 1, unix.RLIMIT_NOFILE},
		{"memlock", "Max locked memory", u.MemlockKB, 1024, unix.RLIMIT_MEMLOCK},
		{"core", "Max core file size", u.Core, 1, unix.RLIMIT_CORE},
	} {
		if one.value == "" {
			continue
		}
		n, err := strconv.ParseUint(one.value, 10, 64)
		text := strconv.FormatUint(n*one.unit, 10)
		if n *= one.unit; err != nil {
			n, text = unix.RLIM_INFINITY, "unlimited"
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(one.resource, &now); err != nil {
			b.t.Fatal(err)
		}
		fmt.Fprintf(&table, "%-25s %-20s %-20s units\n", one.title, text, text)
		if n <= now.Max {
			options = append(options, "--"+one.option+"="+text+":")
		} else {
			options = append(options, fmt.Sprintf("--%s=%d:", one.option, now.Max))
			b.file("/.laid/proc/self/limits", "", 0o644)
		}
	}
	if _, short := b.entries["/.laid/proc/self/limits"]; short {
		b.file("/.laid/proc/self/limits", table.String(), 0o644)
	}
	return options
}
