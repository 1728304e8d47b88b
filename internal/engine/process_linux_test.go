package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLeakedChildrenDie: one in the group of the process and one that left it,
// both holding its log open.
func TestLeakedChildrenDie(t *testing.T) {
	s := child("leak")
	s.Ready = func(context.Context) error { return errors.New("not yet") }
	s.Restart = Restart{First: time.Hour, Max: time.Hour}
	r := run(t, s, Deps{})
	e := r.until(Waiting)
	if e.Exit.Leaked != 2 {
		t.Errorf("exit %+v, want 2 leaked children", e.Exit)
	}
	pids := regexp.MustCompile(`line="child (\d+)"`).FindAllStringSubmatch(r.log.String(), -1)
	if len(pids) != 2 {
		t.Fatalf("log:\n%s", r.log)
	}
	for _, m := range pids {
		if st, err := readStat(m[1]); err == nil && !st.dead() {
			t.Errorf("child %s lives when the end of its process is told", m[1])
		}
	}
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestTheDeadAreWaitedFor(t *testing.T) {
	s := child("sleep")
	c := exec.Command(s.Argv[0])
	c.Env = s.Env
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { buried([]int{c.Process.Pid, 1 << 30}); close(done) }()
	select {
	case <-done:
		t.Error("a living process counts as dead")
	case <-time.After(20 * time.Millisecond):
	}
	_ = c.Process.Kill()
	<-done // a zombie is dead enough
	_ = c.Wait()
}

func TestAFloodOfLinesIsReadAndNotAllShown(t *testing.T) {
	var tail []string
	s := child("flood")
	s.Ready = func(context.Context) error { return errors.New("not yet") }
	s.Restart = Restart{First: time.Hour, Max: time.Hour}
	r := run(t, s, Deps{Clock: newHandClock().clock(), Explain: func(c Crash) Explanation { tail = c.Tail; return Explanation{} }})
	e := r.until(Waiting)
	if e.Exit.Code != 3 {
		t.Errorf("exit %+v", e.Exit)
	}
	if n := len(tail); n != tailSize || tail[n-1] != "the end" || !strings.HasSuffix(tail[n-2], fmt.Sprintf("[%d bytes more]", 100<<10-maxLine)) || len(tail[n-2]) > maxLine+30 || !strings.HasPrefix(tail[n-3], "line 19999 ") {
		t.Errorf("tail of %d, last %.80q", n, tail[max(0, n-3):])
	}
	if n := strings.Count(r.log.String(), "engine output"); n > burst+1 || !strings.Contains(r.log.String(), fmt.Sprintf("[%d lines left out", floodLines+2-burst)) {
		t.Errorf("%d lines shown", n)
	}
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestWhatAProcessIsGiven(t *testing.T) {
	s := child("tell")
	s.CPUs = []int{0}
	var given *os.File
	s.Files = func() ([]*os.File, error) {
		r, w, err := os.Pipe()
		given = r
		if err != nil {
			return nil, err
		}
		_, err = w.WriteString("hello")
		_ = w.Close()
		return []*os.File{r}, err
	}
	s.Restart = Restart{First: time.Hour, Max: time.Hour}
	r := run(t, s, Deps{})
	r.until(Waiting)
	if want := `line="tell 1 true 3 hello <nil>"`; !strings.Contains(r.log.String(), want) {
		t.Errorf("no %s in\n%s", want, r.log)
	}
	if err := given.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("our copy of its file is open: %v", err)
	}
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestAllowedIsWhatTheKernelSays(t *testing.T) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ = strings.Cut(list, "\n")
	if want, err := CPUList(list); err != nil || !slices.Equal(Allowed(), want) {
		t.Errorf("%v, want %v (%v)", Allowed(), want, err)
	}
}

// TestAWorkerDiesWithItsFront: kill -9 of the front leaves no worker behind,
// and what it may have leaked is found by its mark.
func TestAWorkerDiesWithItsFront(t *testing.T) {
	mark := rand.Text() // another run of this test may be under way
	s := child("front", mark)
	s.Restart = Restart{First: time.Hour, Max: time.Hour}
	s.Milestones = []Milestone{{ID: "worker", Pattern: `worker (\d+ \d+)`, Ready: true}}
	r := run(t, s, Deps{})
	m := r.find("milestone", func(e Event) bool { return e.Milestone != nil })
	front := r.until(Ready)
	var worker, below int
	if _, err := fmt.Sscan(m.Detail, &worker, &below); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{worker, below} {
		if !hasMark(pid, mark) || hasMark(pid, mark[:len(mark)-1]) || hasMark(pid, "") {
			t.Errorf("the mark of %d is not right", pid)
		}
	}
	if err := syscall.Kill(front.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, worker)
	if st, err := readStat(strconv.Itoa(below)); err != nil || st.dead() {
		t.Error("the child of the worker is gone: nothing is left to sweep")
	}
	if killed := Sweep(mark); !slices.Equal(killed, []int{below}) {
		t.Errorf("swept %v, want %d", killed, below)
	}
	gone(t, below)
	if killed := Sweep(""); killed != nil {
		t.Errorf("no mark sweeps %v", killed)
	}
	r.stop()
	_ = r.end()
}
