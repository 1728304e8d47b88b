package facts

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/host"
)

// fakeHost answers every question by a function and counts round trips.
type fakeHost struct {
	answer func(host.Question) host.Answer
	rounds int
	asked  []host.Question
}

func (h *fakeHost) String() string { return "fake" }
func (h *fakeHost) Close() error   { return nil }
func (h *fakeHost) Run(context.Context, host.Command) (host.Result, error) {
	return host.Result{}, errors.New("facts never run commands one by one")
}
func (h *fakeHost) ReadFile(context.Context, string) ([]byte, error) {
	return nil, errors.New("facts never read files one by one")
}
func (h *fakeHost) WriteFile(context.Context, string, []byte, fs.FileMode) error {
	return errors.New("looking never writes")
}
func (h *fakeHost) Ask(_ context.Context, qs []host.Question) []host.Answer {
	h.rounds++
	h.asked = append(h.asked, qs...)
	out := make([]host.Answer, len(qs))
	for i, q := range qs {
		out[i] = h.answer(q)
	}
	return out
}

func says(s string) host.Answer {
	return host.Answer{State: host.Known, Result: host.Result{Stdout: []byte(s)}}
}

// everything is a look that leaves nothing out.
func everything(t testing.TB) Options {
	o := knowledge(t)
	o.Serving, o.MultiNode, o.Deep, o.PID = true, true, true, 1
	o.Reach, o.Disks, o.Roots = []string{"mirror.example"}, []string{"/data"}, []string{"/opt/Ascend"}
	o.RankTable, o.Peers = "/job/hccl.json", []string{"192.0.2.90", "192.0.2.91"}
	o.Now = time.Now
	return o
}

func TestALookTakesAtMostTwoRoundTrips(t *testing.T) {
	for _, file := range caseFiles(t) {
		replay, _ := described(t, file)
		h := &fakeHost{answer: func(q host.Question) host.Answer { return replay.Ask(t.Context(), []host.Question{q})[0] }}
		Collect(t.Context(), h, everything(t))
		if h.rounds != 2 {
			t.Errorf("%s: %d round trips, want 2", filepath.Base(file), h.rounds)
		}
	}
}

func TestNPUSmiIsAskedLastInEachRound(t *testing.T) {
	replay, _ := described(t, caseFiles(t)[0])
	h := &fakeHost{answer: func(q host.Question) host.Answer { return replay.Ask(t.Context(), []host.Question{q})[0] }}
	Collect(t.Context(), h, knowledge(t))
	first := slices.IndexFunc(h.asked, isSmi)
	for _, q := range h.asked[:first] {
		if q.Kind == host.PCI {
			return // the bus was asked before
		}
	}
	t.Error("npu-smi was asked before the bus")
}

func isSmi(q host.Question) bool {
	return q.Kind == host.Exec && strings.HasSuffix(q.Args[0], "npu-smi")
}

func TestAHangOfNPUSmiIsNotRepeated(t *testing.T) {
	replay, _ := described(t, "../../testdata/cases/hosts/ubuntu2004-300ipro-310p3.yaml")
	h := &fakeHost{}
	h.answer = func(q host.Question) host.Answer {
		if isSmi(q) {
			if h.rounds > 1 {
				t.Errorf("asked again: %v", q.Args)
			}
			return host.Answer{State: host.Unknown, Err: host.ErrTimeout}
		}
		return replay.Ask(t.Context(), []host.Question{q})[0]
	}
	f := Collect(t.Context(), h, knowledge(t))
	if f.NPUInfo.State != host.Unknown || f.NPUInfo.Note == "" || !f.Driver.Known() {
		t.Errorf("npu_info %+v, driver %+v; want unknown with a reason, and the files all the same", f.NPUInfo, f.Driver)
	}
}

// TestWorksAsRootNotAsYou: the login gets -8005, root gets the table.
func TestWorksAsRootNotAsYou(t *testing.T) {
	h, _ := described(t, "../../testdata/cases/hosts/ubuntu2004-300ipro-310p3.yaml")
	f := Collect(t.Context(), h, knowledge(t))
	if f.NPUInfo.Value.Failure == nil || f.NPUInfo.Value.Failure.Error != SmiDCMIInit {
		t.Errorf("as the login: %+v, want a failure", f.NPUInfo)
	}
	if !f.NPUInfoRoot.Known() || len(f.NPUInfoRoot.Value.Chips) != 2 || !strings.Contains(f.NPUInfoRoot.Source, "LD_LIBRARY_PATH=") {
		t.Errorf("as root: %+v, want two chips, with the libraries of the driver on the path", f.NPUInfoRoot)
	}
	if f.NPUBoardRoot.Value.Board == nil {
		t.Errorf("board as root: %+v", f.NPUBoardRoot)
	}
}

func TestFactsOfDescribedHosts(t *testing.T) {
	for _, tc := range []struct {
		file, generation, driver, firmware, cann, nnal, ops string
		npus, devices                                       int
	}{
		{"a3-16die-cann85", "A3", "25.3.rc1", "7.8.0.2.212", "8.5.0", "8.5.0", "8.5.0 ascend910_93", 16, 16},
		{"cloud-notebook-910b", "A2", "24.1.0.3", "", "8.2.RC1", "", "8.2.RC1 ascend910b", -1, 1},
		{"container-a3-2of16", "A3", "25.5.0", "", "8.5.1", "8.5.1", "8.5.1 ascend910_93", -1, 2},
		{"container-missing-nodes", "A2", "25.2.0", "", "8.3.RC1", "8.3.RC1", "8.3.RC1 ascend910b", -1, 0},
		{"openeuler2003-910-firstgen", "A1", "22.0.0.3", "1.84.15.1.310", "6.3.RC2", "", "6.3.RC2 ascend910b", 8, 8},
		{"openeuler2203-910b3-healthy", "A2", "24.1.rc3", "7.5.0.1.129", "8.1.RC1", "8.1.RC1", "8.1.RC1 ascend910b", 8, 8},
		{"openeuler2403-910b4-cann9-healthy", "A2", "26.0.rc1", "7.8.0.5.216", "9.0.0", "9.0.0", "9.0.0 ascend910b", 8, 8},
		{"orangepi-aipro-310b4", "310B", "23.0.0", "", "7.0.0", "", "7.0.0 ascend310b", 0, 1},
		{"ubuntu2004-300ipro-310p3", "310P", "24.1.rc2", "7.7.0.1.231", "8.0.0", "", "8.0.0 ascend310p", 2, 0},
		{"ubuntu2204-a2-no-driver", "A2", "", "", "", "", "", 8, 0},
		{"vm-310p-vnpu-guest", "310P", "24.1.0", "", "8.0.0", "", "8.0.0 ascend310p", 1, 1},
	} {
		t.Run(tc.file, func(t *testing.T) {
			h, _ := described(t, "../../testdata/cases/hosts/"+tc.file+".yaml")
			f := Collect(t.Context(), h, knowledge(t))
			got := []any{f.Generation.Value, f.Driver.Value.Version, f.Firmware.Value.Version, f.cannVersion().Value, f.nnalVersion().Value,
				f.opsVersion().Value, len(f.Devices().Value)}
			want := []any{tc.generation, tc.driver, tc.firmware, tc.cann, tc.nnal, tc.ops, tc.devices}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if tc.npus >= 0 && len(f.NPUs()) != tc.npus {
				t.Errorf("%d NPUs on the bus, want %d", len(f.NPUs()), tc.npus)
			}
		})
	}
}

func TestKeptFactsAreTheSame(t *testing.T) {
	for _, file := range caseFiles(t) {
		h, _ := described(t, file)
		f := Collect(t.Context(), h, everything(t))
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var back Facts
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(data) {
			t.Errorf("%s: %s", filepath.Base(file), cmp.Diff(string(data), string(again)))
		}
	}
}

// TestGarbageGivesNamedUnknowns answers every question with rubbish: nothing
// may be taken for a value of the wrong kind, and nothing may crash.
func TestGarbageGivesNamedUnknowns(t *testing.T) {
	rubbish := map[string]func(host.Question) host.Answer{
		"words":   func(host.Question) host.Answer { return says("Last login: Mon\nWelcome to 欢迎 openEuler\n") },
		"nothing": func(host.Question) host.Answer { return says("") },
		"NUL":     func(host.Question) host.Answer { return says(strings.Repeat("\x00\xff", 500)) },
		"equals":  func(host.Question) host.Answer { return says("===\n=\nVersion=\nuid=x\n[[[,]]\n") },
		"exit 1":  func(host.Question) host.Answer { a := says("错误：未找到\n"); a.Exit = 1; return a },
		"exit 127": func(host.Question) host.Answer {
			a := says("")
			a.Exit, a.Stderr = 127, []byte("sh: 1: not found")
			return a
		},
		"no answer": func(host.Question) host.Answer { return host.Answer{State: host.Unknown, Err: host.ErrUnreachable} },
		"no reason": func(host.Question) host.Answer { return host.Answer{State: host.Unknown} },
		"no state":  func(host.Question) host.Answer { return host.Answer{} },
		"absent":    func(host.Question) host.Answer { return host.Answer{State: host.Absent} },
	}
	for name, answer := range rubbish {
		t.Run(name, func(t *testing.T) {
			f := Collect(t.Context(), &fakeHost{answer: answer}, everything(t))
			for _, known := range []bool{f.PageSize.Known(), f.Glibc.Known(), f.OS.Known(), f.Memory.Known(), f.Identity.Known(),
				f.Limits.Known(), f.Boot.Known(), f.Driver.Known(), f.Firmware.Known(), f.Generation.Known(), f.TimeSync.Known(), f.TorchABI.Known()} {
				if known {
					t.Errorf("rubbish became a value: %+v %+v %+v", f.OS, f.Driver, f.Limits)
				}
			}
			if d := f.Devices(); d.Known() {
				t.Errorf("devices of rubbish: %+v", d)
			}
			nameEveryUnknown(t, reflect.ValueOf(f))
			if _, err := json.Marshal(f); err != nil {
				t.Error(err)
			}
			Diff(&f, &f)
		})
	}
}

// nameEveryUnknown wants a reason with every unknown fact.
func nameEveryUnknown(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Struct || !strings.HasPrefix(field.Type().Name(), "Fact[") {
			continue
		}
		if field.FieldByName("State").String() == string(host.Unknown) && field.FieldByName("Note").String() == "" {
			t.Errorf("%s is unknown and does not say why", v.Type().Field(i).Name)
		}
	}
}

// TestMangledAnswersNeverCrash cuts, doubles and corrupts what real
// descriptions answer; what is understood must still be one of their words.
func TestMangledAnswersNeverCrash(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 1))
	for _, file := range caseFiles(t) {
		replay, _ := described(t, file)
		for range 6 {
			h := &fakeHost{answer: func(q host.Question) host.Answer {
				a := replay.Ask(t.Context(), []host.Question{q})[0]
				a.Stdout = mangle(rnd, a.Stdout)
				return a
			}}
			f := Collect(t.Context(), h, everything(t))
			if _, err := json.Marshal(f); err != nil {
				t.Fatal(err)
			}
			Diff(&f, &f)
		}
	}
}

func mangle(rnd *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	switch rnd.IntN(4) {
	case 0:
		return b[:rnd.IntN(len(b)+1)]
	case 1:
		return []byte(strings.ReplaceAll(string(b), "\n", "\r\n"))
	case 2:
		for range 1 + len(b)/20 {
			if len(b) > 0 {
				b[rnd.IntN(len(b))] = byte(rnd.IntN(256))
			}
		}
	}
	return b
}

func TestCRLFChangesNothing(t *testing.T) {
	replay, _ := described(t, "../../testdata/cases/hosts/openeuler2203-910b3-healthy.yaml")
	straight := Collect(t.Context(), replay, knowledge(t))
	h := &fakeHost{answer: func(q host.Question) host.Answer {
		a := replay.Ask(t.Context(), []host.Question{q})[0]
		a.Stdout = []byte(strings.ReplaceAll(string(a.Stdout), "\n", "\r\n"))
		return a
	}}
	crlf := Collect(t.Context(), h, knowledge(t))
	for _, c := range Diff(&straight, &crlf) {
		if c.Verdict != Same && c.Verdict != Unsure {
			t.Errorf("%s: %q and %q", c.Key, c.A.Text, c.B.Text)
		}
	}
}

func TestSecretsOfTheEnvironmentAreNotKept(t *testing.T) {
	h := &fakeHost{answer: func(q host.Question) host.Answer {
		if q.Kind == host.Env {
			return says("HF_TOKEN=hf_abc\x00MY_PASSWORD=hunter2\x00PATH=/bin\x00")
		}
		return host.Answer{State: host.Absent}
	}}
	f := Collect(t.Context(), h, Options{PID: 7})
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(data); strings.Contains(s, "hf_abc") || strings.Contains(s, "hunter2") || f.Env.Value["PATH"] != "/bin" {
		t.Errorf("environment kept as %v", f.Env.Value)
	}
}

func TestOnlyTheNamedProbesAreAsked(t *testing.T) {
	h := &fakeHost{answer: func(host.Question) host.Answer { return host.Answer{State: host.Absent} }}
	f := Collect(t.Context(), h, Options{Probes: []string{"limits"}})
	if len(h.asked) != 1 || h.asked[0].Kind != host.Limits || !f.Limits.Absent() || f.Virt.State != "" || f.Generation.State != "" || f.CANN.State != "" {
		t.Errorf("asked %v, facts %+v", h.asked, f)
	}
	names := Probes()
	for i, n := range names {
		if n == "" || slices.Contains(names[:i], n) {
			t.Errorf("probe %q twice, or without a name", n)
		}
	}
}
