package engine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeWait is how long the log of a process is read after all of it that could
// be found is dead: a child that hid may hold the other end for ever.
const pipeWait = time.Second

// running guards the id of a process: once it is reaped another may get it.
type running struct {
	mu     sync.Mutex
	pid    int
	reaped bool
}

// signal reaches the group.
func (r *running) signal(s syscall.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reaped {
		return os.ErrProcessDone
	}
	return unix.Kill(-r.pid, s)
}

// startProcess starts a real process: in a group of its own, bound to the CPUs,
// with nothing but the given environment and mark in it. It dies with us.
func startProcess(s Spec, mark string, sink Sink) (Process, error) {
	out, readers, err := pipes(sink)
	if err != nil {
		return Process{}, err
	}
	cmd := &exec.Cmd{Path: s.Argv[0], Args: s.Argv, Env: append([]string{markName + "=" + mark}, s.Env...), Dir: s.Dir,
		Stdout: out[0], Stderr: out[1], SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	cmd.Path, cmd.Err = find(cmd.Path, s.Env)
	if s.Files != nil && cmd.Err == nil {
		cmd.ExtraFiles, cmd.Err = s.Files()
	}
	began, done := make(chan error, 1), make(chan Exit, 1)
	r := &running{}
	go keep(cmd, s.CPUs, r, mark, began, func(e Exit) {
		readers.wait()
		done <- e
	})
	err = <-began
	closeAll(append(out, cmd.ExtraFiles...))
	if err != nil {
		readers.wait()
		return Process{}, err
	}
	return Process{PID: r.pid, Signal: r.signal, Done: done}, nil
}

// find looks a bare name up in the PATH that the process will have, not in ours.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, v := range slices.Backward(env) { // the last one counts
		list, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if at, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(at) {
				return at, nil
			}
		}
		break
	}
	return name, &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// keep starts a process and stays with it. Its thread is never given back: the
// kernel sends the signal for our death when the thread that started a process
// ends, and a child takes over the CPUs of that thread.
func keep(cmd *exec.Cmd, cpus []int, r *running, mark string, began chan<- error, ended func(Exit)) {
	runtime.LockOSThread()
	err := bind(cpus)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		began <- err
		return
	}
	r.pid = cmd.Process.Pid
	began <- nil
	// Not reaped yet, the leader still holds the number of its group.
	for {
		if err := unix.Waitid(unix.P_PID, r.pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	left := members(r.pid)
	_ = r.signal(syscall.SIGKILL)
	left = slices.Compact(slices.Sorted(slices.Values(append(left, Sweep(mark)...))))
	buried(left)
	r.mu.Lock()
	r.reaped = true
	err = cmd.Wait()
	r.mu.Unlock()
	ended(exitOf(cmd.ProcessState, err, len(left)))
}

func exitOf(st *os.ProcessState, err error, leaked int) Exit {
	e := Exit{Code: -1, Leaked: leaked}
	if st == nil {
		e.Signal = err.Error()
		return e
	}
	ws, ok := st.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
		return e
	}
	e.Code = st.ExitCode()
	return e
}

// bind limits this thread, and what it starts, to the CPUs.
func bind(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &set))
}

// Allowed are the CPUs this process may use: those of its container, or less;
// nil where the system does not say.
func Allowed() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &set) != nil {
		return nil
	}
	for c := range maxCPU {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// streams are the reading ends of a process's output.
type streams struct {
	files []*os.File
	wg    sync.WaitGroup
}

func pipes(sink Sink) (writers []*os.File, s *streams, err error) {
	s = &streams{}
	for _, name := range []string{"stdout", "stderr"} {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(writers)
			closeAll(s.files)
			s.wg.Wait()
			return nil, nil, err
		}
		s.files, writers = append(s.files, r), append(writers, w)
		s.wg.Go(func() { readLines(r, func(line string) { sink(name, line) }) })
	}
	return writers, s, nil
}

// wait lets the readers come to the end, within pipeWait.
func (s *streams) wait() {
	late := time.AfterFunc(pipeWait, func() { closeAll(s.files) })
	s.wg.Wait()
	late.Stop()
	closeAll(s.files)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // may be closed already; nothing was written through it
	}
}

// isFinal is true for failures to start that time does not heal.
func isFinal(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, unix.ENOEXEC)
}
