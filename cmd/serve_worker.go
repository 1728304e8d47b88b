package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/codes"
	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
)

// A worker is this binary beside one device. Its folder, which the front made,
// holds the socket it answers on and, when it cannot start, the reason.
const (
	workerSocket  = "s"
	workerFailure = "failure.json"
	// workerReady begins the line by which the front knows that the socket is
	// there.
	workerReady = "worker ready: "
	// warmRuns are the runs of each gear that are measured before service.
	warmRuns = 10
)

// failureFile is what a worker leaves that could not start.
type failureFile struct {
	Action string `json:"action,omitempty"`
	report.ProblemJSON
}

// worker runs one model on one device until ctx ends.
func (s *session) worker(ctx context.Context, o serveOptions, file string) error {
	if o.probe {
		return s.probeDevice(ctx, o)
	}
	b, err := s.openDevice(ctx, o, file)
	if err != nil {
		return errors.Join(err, leaveFailure(o.worker, s.problem(err, report.ExitFailed), err))
	}
	err = s.attend(ctx, o, b)
	return errors.Join(err, b.Close())
}

// attend answers the front.
func (s *session) attend(ctx context.Context, o serveOptions, b *onDevice) error {
	at := filepath.Join(o.worker, workerSocket)
	_ = os.Remove(at) // of the worker before
	l, err := net.Listen("unix", at)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.app.Out, "%s%s\n", workerReady, b.Describe().Device.Name)
	return infer.ServeWorker(ctx, l, []infer.Hosted{{Name: o.name, Backend: b, Costs: b.costs}}, infer.WorkerOptions{})
}

// leaveFailure writes down for the front why this worker cannot start.
func leaveFailure(dir string, p *report.Problem, err error) error {
	var f failureFile
	if e, ok := errors.AsType[*infer.Error](err); ok {
		f.Action = e.Action
	}
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &f.ProblemJSON)
	}
	if err == nil {
		text, err = json.Marshal(f)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, workerFailure), text, 0o600)
	}
	return err
}

// takeFailure reads what a worker left, once; ok is false when it left nothing.
func takeFailure(dir string) (f failureFile, ok bool) {
	at := filepath.Join(dir, workerFailure)
	text, err := os.ReadFile(at)
	if err != nil {
		return f, false
	}
	_ = os.Remove(at)
	return f, json.Unmarshal(text, &f) == nil && !f.Error.What.IsZero()
}

func (f failureFile) problem() *report.Problem {
	e := f.Error
	p := &report.Problem{What: e.What, Run: e.Run, Exit: e.Exit}
	if e.Why != nil {
		p.Why = *e.Why
	}
	if e.Do != nil {
		p.Do = *e.Do
	}
	return p
}

// onDevice is a model that was loaded in this process, and what it stands on.
type onDevice struct {
	infer.Backend
	lib   *acl.Library
	npu   *infer.NPU
	costs []infer.Cost
}

// Close gives everything back. Where a device is lost it does not, and says so:
// the end of the process will.
func (b *onDevice) Close() error { return closeDevice(b.Backend.Close(), b.npu, b.lib) }

func closeDevice(err error, npu *infer.NPU, lib *acl.Library) error {
	if err == nil && npu != nil {
		err = npu.Close()
	}
	if err == nil {
		err = lib.Close()
	}
	return err
}

// Lend gives memory that the device reaches by itself; see infer.Lender.
func (b *onDevice) Lend(size int) []byte {
	if l, ok := b.Backend.(infer.Lender); ok {
		return l.Lend(size)
	}
	return nil
}

// TakeBack ends a loan; see infer.Lender.
func (b *onDevice) TakeBack(buf []byte) { b.Backend.(infer.Lender).TakeBack(buf) }

// openDevice loads the ACL library and a model, and measures the model.
func (s *session) openDevice(ctx context.Context, o serveOptions, file string) (*onDevice, error) {
	m, err := model.Open(file)
	if err != nil {
		return nil, err
	}
	lib, npu, err := s.takeDevice(o)
	if err != nil {
		return nil, err
	}
	b := &onDevice{lib: lib, npu: npu}
	if err := s.fits(o, m, npu); err != nil {
		return nil, errors.Join(err, closeDevice(nil, npu, lib))
	}
	if b.Backend, err = npu.Open(ctx, infer.NPUOptions{Path: file, Limit: 2 * time.Duration(o.watchdog)}); err != nil {
		return nil, errors.Join(notLoaded(o, m, err), closeDevice(nil, npu, lib))
	}
	if b.costs, err = infer.Measure(ctx, b.Backend, warmRuns); err != nil {
		return nil, errors.Join(notLoaded(o, m, err), b.Close())
	}
	return b, nil
}

// takeDevice opens the library and takes the one device of this process.
func (s *session) takeDevice(o serveOptions) (*acl.Library, *infer.NPU, error) {
	explain, err := s.explainACL()
	if err != nil {
		return nil, nil, err
	}
	lib, err := acl.Open(acl.Options{Search: acl.Search(s.aclSearcher(o.aclLib)), Explain: explain})
	if err != nil {
		return nil, nil, aclProblem(report.T("ACL does not start", "ACL 初始化失败"), err)
	}
	device, err := strconv.Atoi(o.device)
	if err != nil {
		return nil, nil, errors.Join(err, lib.Close())
	}
	npu, err := infer.TakeNPU(lib, device)
	if err != nil {
		return nil, nil, errors.Join(aclProblem(report.T("device %d cannot be used", "无法使用设备 %d", device), err), lib.Close())
	}
	return lib, npu, nil
}

func (s *session) aclSearcher(flag string) acl.Searcher {
	return acl.Searcher{Explicit: first(flag, s.app.Getenv("ASCENDCTL_ACL_LIB")), Getenv: s.app.Getenv,
		Exists: func(p string) bool { _, err := os.Stat(p); return err == nil }}
}

// aclProblem tells a failure of ACL; what knows more than this stays as it is.
func aclProblem(what report.Text, err error) error {
	if _, told := errors.AsType[*report.Problem](err); told {
		return err
	}
	if e, ok := errors.AsType[*acl.Error](err); ok {
		return e.Problem(what)
	}
	return &report.Problem{What: what, Why: report.Same(err.Error()), Do: report.T("look at the host", "检查主机"), Run: Name + " preflight", Exit: report.ExitFailed, Err: err}
}

// explainACL looks codes up in our table.
func (s *session) explainACL() (acl.Explain, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	known := codes.Load(b)
	return func(code string) (acl.Meaning, bool) {
		var e codes.Entry
		n, err := strconv.Atoi(code)
		ok := err == nil
		if ok {
			e, ok = known.ByACL(n)
		} else if all, err := known.Explain(code); err == nil && len(all) > 0 {
			e, ok = all[0], true
		}
		if !ok {
			return acl.Meaning{}, false
		}
		return acl.Meaning{Name: e.Name, Text: e.Meaning, Remedy: e.Remedy, Class: e.Class, Action: acl.Action(e.Action)}, true
	}, nil
}

// fits refuses a model that the device is not, or has no room for, before it is
// loaded: the library's own words would say less.
func (s *session) fits(o serveOptions, m *model.Model, npu *infer.NPU) error {
	if m.Compiled == nil {
		return &report.Problem{What: report.T("%s is no compiled model", "%s 不是编译后的模型", m.File), Exit: report.ExitFailed}
	}
	if chip := string(m.Chip); chip != "" && npu.SoC != "" && !strings.EqualFold(chip, npu.SoC) {
		return &report.Problem{
			What: report.T("%s was compiled for another chip", "%s 是为其他芯片编译的", m.File),
			Why:  report.T("the file is for %s, device %d is %s", "文件面向 %s，设备 %d 为 %s", chip, npu.Device, npu.SoC),
			Do:   report.T("compile it again with --soc_version=%s", "使用 --soc_version=%s 重新编译", npu.SoC),
			Run:  report.Line(Name, "inspect", m.File), Exit: report.ExitFailed,
		}
	}
	room, err := npu.Room(m.File)
	if err != nil {
		return notLoaded(o, m, err)
	}
	need := engine.Need{Model: o.name, Weights: room.Weight, Work: room.Work, IO: ioBytes(m)}
	return problemOf(engine.Fit(engine.Room{Free: room.Free, Total: room.Total, Available: s.available(npu)}, []engine.Need{need}), npu.Device)
}

// problemOf keeps a nil problem a nil error.
func problemOf(b engine.Budget, device int) error {
	if p := b.Problem(device); p != nil {
		return p
	}
	return nil
}

// ioBytes is the memory of inputs and outputs in the largest gear.
func ioBytes(m *model.Model) (sum int64) {
	for _, ports := range [][]model.Port{m.Inputs, m.Outputs} {
		for _, p := range ports {
			if p.Padded != nil {
				sum += *p.Padded
			} else if p.Bytes != nil {
				sum += *p.Bytes
			}
		}
	}
	return sum
}

// available is MemAvailable where the device's memory is the system's; else 0.
func (s *session) available(npu *infer.NPU) int64 {
	if !npu.Direct() {
		return 0
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}

// notLoaded is a model that ACL refuses. A compiler that is newer than the
// runtime is the likeliest reason where both are known.
func notLoaded(o serveOptions, m *model.Model, err error) error {
	p := &report.Problem{
		What: report.T("the device does not load %s", "设备无法加载 %s", m.File), Why: report.Same(err.Error()),
		Do:  report.T("compile the model with the CANN of this host", "使用本机的 CANN 重新编译模型"),
		Run: report.Line(Name, "inspect", m.File), Exit: report.ExitFailed, Err: err,
	}
	var e *acl.Error
	if errors.As(err, &e) {
		p = e.Problem(p.What)
		if p.Do.IsZero() {
			p.Do = report.T("compile the model with the CANN of this host", "使用本机的 CANN 重新编译模型")
		}
	}
	if atc := string(m.Compiler.ATC); newerComponent(atc, o.runtime) {
		p.Why = report.T("it was compiled by ATC %s, the runtime here is %s, which is older; %s", "编译所用 ATC 为 %s，本机 runtime 为 %s，版本较低；%s", atc, o.runtime, p.Why)
		p.Do = report.T("compile it with the CANN of this host, or install the newer CANN", "使用本机的 CANN 重新编译，或安装较新的 CANN")
	}
	return p
}

// newerComponent compares the leading numbers of two component versions, as
// 7.7.0.1.238; false where one is not known.
func newerComponent(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y), 3) {
		m, errX := strconv.Atoi(strings.TrimLeft(x[i], "TB"))
		n, errY := strconv.Atoi(strings.TrimLeft(y[i], "TB"))
		if errX != nil || errY != nil || m != n {
			return errX == nil && errY == nil && m > n
		}
	}
	return false
}

// probeDevice is the way back of a device that was put aside: a fresh process
// takes it, sends it a few bytes and takes them back.
func (s *session) probeDevice(ctx context.Context, o serveOptions) error {
	lib, npu, err := s.takeDevice(o)
	if err != nil {
		return err
	}
	return closeDevice(npu.Probe(ctx), npu, lib)
}
