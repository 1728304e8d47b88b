package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/report"
)

// TestModelsShareTheProcesses: a process has every instance of every model, all
// are used, all go with it and come back with it.
func TestModelsShareTheProcesses(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWard(t)
	w.models = []string{"m//1", "other"}
	cfg := w.config("npu0", "npu1")
	cfg.Models = []Hosting{{Name: "m", Instances: 2}, {Name: "other"}}
	crew, err := OpenCrew(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer crew.Close()
	m, other := crew.Model("m"), crew.Model("other")
	if crew.Model("m//1") != nil || m.Width() != 4 || other.Width() != 2 || len(m.Devices()) != 2 || m.Devices()[1].Instances != 2 || other.Devices()[0].Instances != 1 {
		t.Errorf("%d %d %+v", m.Width(), other.Width(), m.Devices())
	}
	if name := m.Describe().Device.Name; strings.Count(name, ";") != 1 {
		t.Errorf("two devices are %q", name)
	}
	// Four batches find four seats, and the fifth none; the other model has its own.
	var taken []*seat
	for range 4 {
		s, _, err := m.free(t.Context())
		if err != nil || slices.Contains(taken, s) {
			t.Fatalf("%v after %d", err, len(taken))
		}
		taken = append(taken, s)
	}
	if err := other.Run(t.Context(), three()); err != nil {
		t.Error(err)
	}
	for _, s := range taken {
		s.busy = false
	}
	w.kill("npu0")
	until(t, "npu0 was started again", func() bool {
		return other.Devices()[0].Starts == 2 && len(m.serving()) == 4 && len(other.serving()) == 2
	})
	var all sync.WaitGroup
	for _, model := range []*Workers{m, other} {
		for range 20 {
			all.Go(func() {
				if err := model.Run(t.Context(), three()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := other.Run(t.Context(), three()); err != nil {
		t.Errorf("after the end of another model: %v", err)
	}
}

// TestAWorkerThatLacksAModelIsNotServing: it is started again, and the faults say
// why.
func TestAWorkerThatLacksAModelIsNotServing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWard(t)
	w.models = []string{"other"}
	cfg := w.config("npu0")
	cfg.Models = append(cfg.Models, Hosting{Name: "other"})
	crew, err := OpenCrew(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer crew.Close()
	w.mu.Lock()
	w.models = nil
	w.mu.Unlock()
	w.kill("npu0")
	m := crew.Model("m")
	until(t, "the fault is told", func() bool { return len(m.Devices()[0].Faults) > 0 })
	if f := m.Devices()[0].Faults[0]; f.Action != engine.RestartProcess || !strings.Contains(f.Text.En, `no model "other"`) {
		t.Errorf("%+v", f)
	}
}

// TestWhatAFailureTellsTheSupervisor: what the table of codes calls for, and
// nothing of a request that is wrong or was given up.
func TestWhatAFailureTellsTheSupervisor(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for i, c := range []struct {
		err  infer.Error
		told bool
		away bool
	}{
		{infer.Error{Class: infer.Reject, Action: string(engine.Reject)}, false, false},
		{infer.Error{Class: infer.Failed, Code: 207001, Action: string(engine.UnloadSomething)}, true, false},
		{infer.Error{Class: infer.Lost, Code: 507015, Action: string(engine.RestartProcess)}, true, true},
		{infer.Error{Class: infer.Canceled}, false, false},
		{infer.Error{Class: infer.Failed}, false, false},
	} {
		w := newWard(t)
		all := w.open("npu0")
		s := all.seats[0]
		c.err.Op, c.err.Detail = "Run", fmt.Sprintf("case %d", i)
		err := s.judge(s.remote, &c.err)
		e, ok := errors.AsType[*infer.Error](err)
		if !ok || (e.Class == infer.Away) != c.away {
			t.Errorf("case %d: %v", i, err)
		}
		if c.told {
			until(t, "the fault is told", func() bool { return len(all.Devices()[0].Faults) == 1 })
			if f := all.Devices()[0].Faults[0]; f.Code != c.err.Code || string(f.Action) != c.err.Action || f.Text != report.Same(c.err.Error()) {
				t.Errorf("case %d: %+v", i, f)
			}
		}
		all.crew.Close()
		if n := len(all.Devices()[0].Faults); n > 0 && !c.told {
			t.Errorf("case %d: %d faults", i, n)
		}
	}
}
