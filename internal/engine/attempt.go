package engine

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// readyEvery is the pause between two questions whether a process is ready.
const readyEvery = 200 * time.Millisecond

// do carries out an order of the machine.
func (s *Supervisor) do(o order) {
	switch o {
	case doStart:
		s.start()
	case doSignal:
		s.signal(s.spec.Stop)
	case doKill:
		s.signal(syscall.SIGKILL)
	case doDrain:
		r := s.run
		s.work.Go(func() {
			if err := s.within(r.life, s.spec.DrainWait, s.spec.Drain); err != nil {
				s.deps.Log.Warn("not drained", "engine", s.spec.Name, "error", err)
			}
			s.post(input{kind: drained, of: r.n, why: report.T("drained", "已排空")})
		})
	case doProbe:
		r := s.next(Process{}, nil)
		s.work.Go(func() {
			if err := s.within(r.life, s.spec.ProbeWait, s.spec.Probe); err != nil {
				s.post(input{kind: probedBad, of: r.n, why: report.T("probe of the device failed: %v", "设备探测失败：%v", err)})
				return
			}
			s.post(input{kind: probedGood, of: r.n, why: report.T("the device answered the probe", "设备探测通过")})
		})
	}
}

// next makes the attempt that inputs are about from now on.
func (s *Supervisor) next(p Process, j *journal) *attempt {
	r := &attempt{process: p, journal: j}
	r.life, r.end = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	r.n = 1
	if s.run != nil {
		r.n = s.run.n + 1
		s.run.end()
	}
	s.run = r
	return r
}

func (s *Supervisor) start() {
	log := newJournal(s.deps.Clock.Now, func(stream, line string) {
		s.deps.Log.Info("engine output", "engine", s.spec.Name, "stream", stream, "line", line)
	})
	r := s.next(Process{}, log)
	p, err := s.launch(r.n, func(stream, line string) {
		s.passed(r, line, log.add(stream, line))
	})
	if err != nil {
		r.end()
		s.post(s.notStarted(r.n, err))
		return
	}
	w := &watch{clock: s.deps.Clock, tell: func(k kind) { s.post(input{kind: k, of: r.n, why: whyLate(k)}) }}
	s.mu.Lock()
	r.process, s.watch = p, w
	s.status.Starts++
	s.mu.Unlock()
	go func() { // not waited for: what the driver holds may never end
		select {
		case e := <-p.Done:
			s.post(input{kind: exited, of: r.n, exit: &e})
		case <-s.quit:
		}
	}()
	s.work.Go(func() { s.awaitReady(r) })
}

func (s *Supervisor) launch(n int, sink Sink) (Process, error) {
	if s.deps.Start != nil {
		return s.deps.Start(s.spec, sink)
	}
	return startProcess(s.spec, fmt.Sprintf("%s.%s.%d", s.deps.Mark, s.spec.Name, n), sink)
}

func whyLate(k kind) report.Text {
	switch k {
	case overdue:
		return report.T("a batch is over its time", "有 batch 执行超时")
	case hung:
		return report.T("a batch hangs: the device is put aside", "有 batch 挂死：隔离设备")
	}
	return report.T("the batch came back", "超时的 batch 已返回")
}

func (s *Supervisor) notStarted(n int, err error) input {
	in := input{kind: noStart, of: n, why: report.T("cannot be started: %v", "无法启动：%v", err)}
	if isFinal(err) {
		in.action = FixHost
		in.final = &report.Problem{
			What: report.T("cannot start %s", "无法启动 %s", s.spec.Name), Why: report.Same(err.Error()), Err: err, Exit: report.ExitFailed,
			Do: report.T("check that %s is there and may be run", "检查 %s 是否存在且可执行", s.spec.Argv[0]),
		}
	}
	return in
}

// passed looks for milestones in a line. Lines that came too fast to be shown
// are no news, but may still say that the process is ready.
func (s *Supervisor) passed(r *attempt, line string, shown bool) {
	for i, re := range s.patterns {
		mile := &s.spec.Milestones[i]
		serves := mile.Ready && s.spec.Ready == nil && !r.serves.Load()
		if !shown && !serves {
			continue
		}
		m := re.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		detail := ""
		if len(m) > 1 {
			detail = m[1]
		}
		s.post(input{kind: learnt, of: r.n, mile: mile, text: detail})
		if serves && r.serves.CompareAndSwap(false, true) {
			s.post(input{kind: isReady, of: r.n, why: mile.Title})
		}
	}
}

// awaitReady asks until the process is ready or gone.
func (s *Supervisor) awaitReady(r *attempt) {
	if s.spec.Ready == nil {
		for _, m := range s.spec.Milestones {
			if m.Ready {
				return
			}
		}
	}
	for s.spec.Ready != nil && s.within(r.life, s.spec.HealthWait, s.spec.Ready) != nil {
		if !s.sleep(r.life, readyEvery) {
			return
		}
	}
	s.post(input{kind: isReady, of: r.n, why: report.T("ready", "就绪")})
}

// health asks as long as the process lives.
func (s *Supervisor) health(r *attempt) {
	fails := 0
	for s.sleep(r.life, s.spec.HealthEvery) {
		err := s.within(r.life, s.spec.HealthWait, s.spec.Health)
		if err == nil || r.life.Err() != nil {
			fails = 0
			continue
		}
		if fails++; fails == s.spec.HealthFails {
			f := Fault{Action: RestartProcess, Time: s.deps.Clock.Now(), Text: report.T("health check failed %d times: %v", "健康检查连续失败 %d 次：%v", fails, err)}
			s.post(input{kind: faulty, of: r.n, action: f.Action, why: f.Text, fault: &f})
		}
	}
}

// within calls f with a context that ends after d by the clock handed in.
func (s *Supervisor) within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.deps.Clock.AfterFunc(d, cancel)()
	return f(ctx)
}

// sleep is false when ctx ended first.
func (s *Supervisor) sleep(ctx context.Context, d time.Duration) bool {
	over := make(chan struct{})
	defer s.deps.Clock.AfterFunc(d, func() { close(over) })()
	select {
	case <-over:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// signal reaches the group; that it is gone already is not a failure.
func (s *Supervisor) signal(sig syscall.Signal) {
	if err := s.run.process.Signal(sig); err != nil {
		s.deps.Log.Debug("no signal", "engine", s.spec.Name, "signal", sig, "error", err)
	}
}
