package engine

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

const floodLines = 20000

// childVar makes the test binary play a process to supervise; the roles are
// simulated engines.
const childVar = "ENGINE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		syscall.Exit(play(strings.Fields(role))) // without the hooks of -cover and -race, which write and wait
	}
	goleak.VerifyTestMain(m)
}

// child is a spec that plays a role.
func child(role ...string) Spec {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Spec{Name: "npu0", Devices: []int{0}, Argv: []string{exe}, Env: []string{childVar + "=" + strings.Join(role, " "), "PATH=" + os.Getenv("PATH")}}
}

func play(role []string) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	switch role[0] {
	case "serve": // ready, then until told to end
		fmt.Println("weights loaded 7 shards")
		fmt.Println("ready to roll")
		<-term
		fmt.Println("bye")
		return 0
	case "deaf": // does not end on SIGTERM
		fmt.Println("ready to roll")
		select {}
	case "exit":
		n, _ := strconv.Atoi(role[1])
		fmt.Fprintln(os.Stderr, "something broke")
		return n
	case "flood":
		for i := range floodLines {
			fmt.Println("line", i, strings.Repeat("x", 60))
		}
		fmt.Println(strings.Repeat("y", 100<<10))
		fmt.Print("the end")
		return 3
	case "leak":
		return leak()
	case "nest": // a child in the group, which a death of the group's starter does not reach
		c := exec.Command(os.Args[0])
		c.Env = replaceRole("sleep")
		if err := c.Start(); err != nil {
			return 9
		}
		fmt.Println("child", c.Process.Pid)
		select {}
	case "sleep":
		select {}
	case "tell":
		return tell()
	case "front":
		return front(role[1])
	case "lock":
		l, err := LockDevices(LockOptions{Dirs: role[1:], Devices: []int{3}, Holder: Holder{What: "digits on :8080", Since: t0, Mark: "m1"}})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("locked")
		<-term
		_ = l.Close()
		return 0
	}
	return 1
}

// leak leaves two children: one in its group, without the mark; one with it, in
// a session of its own.
func leak() int {
	for _, own := range []bool{false, true} {
		c := exec.Command(os.Args[0])
		if c.Env = []string{childVar + "=sleep"}; own {
			c.Env = replaceRole("sleep")
		}
		c.Stdout = os.Stdout
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
		if err := c.Start(); err != nil {
			return 9
		}
		fmt.Println("child", c.Process.Pid)
	}
	return 0
}

// tell says what it was given.
func tell() int {
	var set unix.CPUSet
	_ = unix.SchedGetaffinity(0, &set)
	pgid, _ := unix.Getpgid(0)
	fd3, err := os.ReadFile("/proc/self/fd/3")
	fmt.Println("tell", set.Count(), pgid == os.Getpid(), len(os.Environ()), string(fd3), err)
	return 0
}

// front supervises a worker that has a child, until somebody kills it.
func front(mark string) int {
	s := child("nest")
	s.Milestones = []Milestone{{ID: "child", Pattern: `child (\d+)`, Ready: true}}
	sup, err := New(s, Deps{Mark: mark, Event: func(e Event) {
		if e.Milestone != nil {
			fmt.Println("worker", e.PID, e.Detail)
		}
	}})
	if err == nil {
		err = sup.Run(neverEnds{})
	}
	fmt.Println(err)
	return 1
}

func replaceRole(role string) (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, childVar+"=") {
			env = append(env, v)
		}
	}
	return append(env, childVar+"="+role)
}

// neverEnds is a context without an end.
type neverEnds struct{}

func (neverEnds) Deadline() (time.Time, bool) { return time.Time{}, false }
func (neverEnds) Done() <-chan struct{}       { return nil }
func (neverEnds) Err() error                  { return nil }
func (neverEnds) Value(any) any               { return nil }

// gone waits until a process is no more, or only a name in the table.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 2000 {
		st, err := readStat(strconv.Itoa(pid))
		if err != nil || st.dead() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("process %d lives on", pid)
}
