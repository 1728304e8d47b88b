package engine

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxEnviron bounds what is read of a process's environment. The mark is put
// first; a child that rebuilt its environment may have moved it.
const maxEnviron = 256 << 10

// Sweep kills every process that has the mark in its environment, or one that
// begins with it and a dot, and gives their ids. Names are not looked at. A
// process that rid itself of its environment is not found; one of another user
// neither, without root.
func Sweep(mark string) (killed []int) {
	if mark == "" {
		return nil
	}
	for more := true; more; { // children that were forked meanwhile are found in the next round
		more = false
		for _, pid := range marked(mark) {
			if !slices.Contains(killed, pid) && killMarked(pid, mark) {
				killed, more = append(killed, pid), true
			}
		}
	}
	return killed
}

func marked(mark string) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good: no error
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && pid != os.Getpid() && hasMark(pid, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func hasMark(pid int, mark string) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxEnviron)) // of a process that just ended: nothing
	for v := range bytes.SplitSeq(data, []byte{0}) {
		value, ok := bytes.CutPrefix(v, []byte(markName+"="))
		if ok && (string(value) == mark || bytes.HasPrefix(value, []byte(mark+"."))) {
			return true
		}
	}
	return false
}

// killMarked looks again through a handle of the process, so that an id that
// changed hands meanwhile is not hit. Kernels before 5.3 have no such handle.
func killMarked(pid int, mark string) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ENOSYS {
		return hasMark(pid, mark) && unix.Kill(pid, syscall.SIGKILL) == nil
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return hasMark(pid, mark) && unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0) == nil
}

// members are the living processes of a group besides its leader.
func members(group int) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		st, err := readStat(filepath.Base(dir))
		if err == nil && st.group == group && st.pid != group && !st.dead() {
			pids = append(pids, st.pid)
		}
	}
	return pids
}

// buried waits until none of the processes lives. One that the driver holds in
// the kernel still has the device: it is waited for as long as that takes.
func buried(pids []int) {
	var living []stat
	for _, pid := range pids {
		if st, err := readStat(strconv.Itoa(pid)); err == nil {
			living = append(living, st)
		}
	}
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		living = slices.DeleteFunc(living, func(was stat) bool {
			st, err := readStat(strconv.Itoa(was.pid))
			return err != nil || st.start != was.start || st.dead()
		})
		if len(living) == 0 {
			return
		}
		time.Sleep(pause)
	}
}
