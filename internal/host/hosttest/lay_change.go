//go:build linux

package hosttest

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Reboot leaves of the host what a reboot leaves: every process is gone, /run,
// /tmp and /dev/shm are empty, boot id and boot time are new, and connections
// are refused until the programs in /.laid/boot.d have run. An installer of a
// test leaves there what its driver does at boot.
func (l *Laid) Reboot(t testing.TB) {
	t.Helper()
	l.power.Lock()
	defer l.power.Unlock()
	l.shut()
	l.Sh(t, layText(t, "reboot.sh"), strconv.FormatInt(time.Now().Unix(), 10), bootID())
	l.open()
	l.boots.Add(1)
}

// Boots counts the reboots so far, those among them that a program of the host
// asked for: reboot, shutdown -r and systemctl reboot return before it happens.
func (l *Laid) Boots() int { return int(l.boots.Load()) }

func bootID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// obey reboots when the host is told to by one of its own programs.
func (l *Laid) obey() {
	l.t.Helper()
	l.Sh(l.t, "mkfifo -m 666 /.laid/reboot")
	f, err := os.OpenFile(l.path("/.laid/reboot"), os.O_RDWR, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := bufio.NewScanner(f); s.Scan(); {
			l.Reboot(l.t)
		}
	}()
	l.t.Cleanup(func() { f.Close(); <-done })
}

// path is a file of the host as this machine sees it. Links in it that start at
// the root lead astray: it is for paths of our own and for walking.
func (l *Laid) path(p string) string { return "/proc/" + strconv.Itoa(l.pid) + "/root" + p }

// Calls are the calls of stubs so far, "name arguments", oldest first.
func (l *Laid) Calls(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile(l.path("/.laid/calls"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n"))
}

// Stub replaces a program of the host, or adds one, by a script of sh.
func (l *Laid) Stub(t testing.TB, file, script string) {
	t.Helper()
	l.WriteFile(t, file, "#!/bin/sh\n# Simulated.\nprintf '%s\\n' \"${0##*/} $*\" >>/.laid/calls\n"+script, 0o755)
}

// WriteFile writes a file of the host as root, folders above it included.
func (l *Laid) WriteFile(t testing.TB, file, content string, mode fs.FileMode) {
	t.Helper()
	l.feed(t, strings.NewReader(content), `mkdir -p "$(dirname "$1")" && /usr/bin/tee "$1" >/dev/null && chmod "$2" "$1"`, file, fmt.Sprintf("%o", mode.Perm()))
}

// ReadFile reads a file of the host as root.
func (l *Laid) ReadFile(t testing.TB, file string) string {
	t.Helper()
	return l.Sh(t, `exec /usr/bin/tail -c +1 -- "$1"`, file)
}

// AddUser makes an account of the host; name "" makes one up.
func (l *Laid) AddUser(t testing.TB, name string, p Person) string {
	t.Helper()
	if name == "" {
		name = "asc" + strings.ToLower(rand.Text()[:8])
	}
	if p.Shell == "" {
		p.Shell = "/bin/sh"
	}
	if p.Password == "" {
		p.Password = rand.Text()
	}
	l.feed(t, strings.NewReader(name+":"+p.Password+"\n"), `useradd --create-home --shell "$2" "$1" && chpasswd`, name, p.Shell)
	if p.Sudo != "" {
		l.WriteFile(t, "/etc/sudoers.d/"+name, name+" "+p.Sudo+"\n", 0o440)
	}
	return name
}

// FillDisk leaves so many bytes free for everything the host writes, and df says
// so. The function it gives makes room again. Only for a host in memory: nobody
// else's disk is filled.
func (l *Laid) FillDisk(t testing.TB, leave int64) (free func()) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(l.path("/.laid"), &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != unix.TMPFS_MAGIC {
		t.Fatal("FillDisk: the host stands on a disk of this machine")
	}
	size := func(n int64) { l.Sh(t, `mount -o "remount,size=$1" /.laid`, strconv.FormatInt(n, 10)) }
	l.WriteFile(t, "/.laid/full", "", 0o644) // df tells the truth from now on
	size(int64(s.Blocks-s.Bfree)*s.Bsize + leave)
	return func() {
		size(int64(s.Blocks) * s.Bsize)
		l.Sh(t, "rm /.laid/full")
	}
}

// Entry is what an undo has to restore of a path.
type Entry struct {
	Type     byte // f d l c b p s
	Mode     uint32
	UID, GID uint32
	Size     int64  // of a file
	SHA256   string // of a file
	Link     string // target of a link
	Device   uint64
}

type hashed struct {
	size         int64
	inode        uint64
	mtime, ctime syscall.Timespec
	sum          string
}

// Snapshot is every path of the host but those at or below except, /proc,
// /.laid and /dev/pts.
func (l *Laid) Snapshot(t testing.TB, except ...string) map[string]Entry {
	t.Helper()
	except = append([]string{"/proc", "/.laid", "/dev/pts"}, except...)
	root, out := l.path("/"), map[string]Entry{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		name := "/" + strings.TrimPrefix(p, root)
		if slices.Contains(except, name) {
			if err == nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err == nil {
			out[name], err = l.entry(p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (l *Laid) entry(p string) (Entry, error) {
	info, err := os.Lstat(p)
	if err != nil {
		return Entry{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	e := Entry{Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid, Type: 'f'}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		e.Type = 'd'
	case syscall.S_IFLNK:
		e.Type, e.Mode = 'l', 0
		e.Link, err = os.Readlink(p)
	case syscall.S_IFCHR:
		e.Type, e.Device = 'c', uint64(st.Rdev)
	case syscall.S_IFBLK:
		e.Type, e.Device = 'b', uint64(st.Rdev)
	case syscall.S_IFIFO:
		e.Type = 'p'
	case syscall.S_IFSOCK:
		e.Type = 's'
	default:
		e.Size = st.Size
		e.SHA256, err = l.sum(p, st)
	}
	return e, err
}

// sum reads a file again only when its times or its inode are others.
func (l *Laid) sum(p string, st *syscall.Stat_t) (string, error) {
	key := hashed{st.Size, st.Ino, st.Mtim, st.Ctim, ""}
	old := l.hashes[p]
	if key.sum = old.sum; old == key && old.sum != "" {
		return old.sum, nil
	}
	f, err := os.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	key.sum = hex.EncodeToString(h.Sum(nil))
	l.hashes[p] = key
	return key.sum, nil
}

// Changes lists what differs between two snapshots, a path a line, sorted:
// "+ path" is new, "- path" is gone, "~ path: old -> new" is another.
func Changes(before, after map[string]Entry) (out []string) {
	for _, p := range sortedKeys(before) {
		now, there := after[p]
		switch {
		case !there:
			out = append(out, "- "+p)
		case now != before[p]:
			out = append(out, fmt.Sprintf("~ %s: %+v -> %+v", p, before[p], now))
		}
	}
	for _, p := range sortedKeys(after) {
		if _, was := before[p]; !was {
			out = append(out, "+ "+p)
		}
	}
	return out
}
