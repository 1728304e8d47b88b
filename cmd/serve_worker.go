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
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/codes"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/serve"
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

// worker runs models on one device until ctx ends.
func (s *session) worker(ctx context.Context, o serveOptions, files []string) error {
	if o.probe {
		return s.probeDevice(ctx, o)
	}
	models, err := s.servables(o, files)
	var d *onDevice
	if err == nil {
		d, err = s.openDevice(ctx, o, models)
	}
	if err != nil {
		return errors.Join(err, leaveFailure(o.worker, s.problem(err, report.ExitFailed), err))
	}
	err = s.attend(ctx, o, d)
	return errors.Join(err, d.close())
}

// attend answers the front.
func (s *session) attend(ctx context.Context, o serveOptions, d *onDevice) error {
	at := filepath.Join(o.worker, workerSocket)
	_ = os.Remove(at) // of the worker before
	l, err := net.Listen("unix", at)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.app.Out, "%s%s\n", workerReady, d.hosted[0].Backend.Describe().Device.Name)
	return infer.ServeWorker(ctx, l, d.hosted, infer.WorkerOptions{})
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

// onDevice is what was loaded in this process, and what it stands on.
type onDevice struct {
	lib    *acl.Library
	npu    *infer.NPU
	hosted []infer.Hosted
	left   atomic.Int32 // of hosted, not closed yet
}

// close ends all models.
func (d *onDevice) close() (err error) {
	for _, h := range d.hosted {
		err = errors.Join(err, h.Backend.Close())
	}
	return err
}

// model gives the first instance of a model; nil for none.
func (d *onDevice) model(name string) infer.Backend {
	for _, h := range d.hosted {
		if h.Name == name {
			return h.Backend
		}
	}
	return nil
}

// resident is a model of a device. With the last one the device is given back.
type resident struct {
	infer.Backend
	home *onDevice
}

// Close frees the model. Where a device is lost nothing is given back: the end
// of the process will.
func (r *resident) Close() error {
	err := r.Backend.Close()
	if r.home.left.Add(-1) > 0 {
		return err
	}
	return closeDevice(err, r.home.npu, r.home.lib)
}

func closeDevice(err error, npu *infer.NPU, lib *acl.Library) error {
	if err == nil {
		err = npu.Close()
	}
	if err == nil {
		err = lib.Close()
	}
	return err
}

// Lend gives memory that the device reaches by itself; see infer.Lender.
func (r *resident) Lend(size int) []byte { return r.Backend.(infer.Lender).Lend(size) }

// TakeBack ends a loan; see infer.Lender.
func (r *resident) TakeBack(buf []byte) { r.Backend.(infer.Lender).TakeBack(buf) }

// openDevice loads the ACL library and the models, and measures each instance.
func (s *session) openDevice(ctx context.Context, o serveOptions, models []served) (*onDevice, error) {
	lib, npu, err := s.takeDevice(o)
	if err != nil {
		return nil, err
	}
	d := &onDevice{lib: lib, npu: npu}
	if err := s.fits(o, models, npu); err != nil {
		return nil, errors.Join(err, closeDevice(nil, npu, lib))
	}
	for _, m := range models {
		for k := range o.instances {
			if err := d.load(ctx, o, m, serve.Instance(m.name, k)); err != nil {
				err = notLoaded(o, m.Model, err)
				if len(d.hosted) == 0 {
					return nil, errors.Join(err, closeDevice(nil, npu, lib))
				}
				return nil, errors.Join(err, d.close())
			}
		}
	}
	return d, nil
}

func (d *onDevice) load(ctx context.Context, o serveOptions, m served, name string) error {
	b, err := d.npu.Open(ctx, infer.NPUOptions{Path: m.file, Limit: 2 * time.Duration(o.watchdog)})
	if err != nil {
		return err
	}
	d.left.Add(1)
	d.hosted = append(d.hosted, infer.Hosted{Name: name, Backend: &resident{b, d}})
	last := &d.hosted[len(d.hosted)-1]
	last.Costs, err = infer.Measure(ctx, last.Backend, warmRuns)
	return err
}

// takeDevice opens the library and takes the one device of this process.
func (s *session) takeDevice(o serveOptions) (*acl.Library, *infer.NPU, error) {
	explain, err := s.explainACL()
	if err != nil {
		return nil, nil, err
	}
	lib, err := acl.Open(acl.Options{Search: acl.Search(s.aclSearcher(o.aclLib)), Explain: explain})
	if err != nil {
		return nil, nil, s.notStarted(err)
	}
	device, err := strconv.Atoi(o.device)
	if err != nil {
		return nil, nil, errors.Join(err, lib.Close())
	}
	npu, err := infer.TakeNPU(lib, device)
	if err != nil {
		return nil, nil, errors.Join(s.notTaken(device, err), lib.Close())
	}
	return lib, npu, nil
}

func (s *session) aclSearcher(flag string) acl.Searcher {
	return acl.Searcher{Explicit: first(flag, s.app.Getenv("ASCENDCTL_ACL_LIB")), Getenv: s.app.Getenv,
		Exists: func(p string) bool { _, err := os.Stat(p); return err == nil }}
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

// probeDevice is the way back of a device that was put aside: a fresh process
// takes it, sends it a few bytes and takes them back.
func (s *session) probeDevice(ctx context.Context, o serveOptions) error {
	lib, npu, err := s.takeDevice(o)
	if err != nil {
		return err
	}
	return closeDevice(npu.Probe(ctx), npu, lib)
}
