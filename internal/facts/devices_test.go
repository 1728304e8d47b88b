package facts

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

func devicesOf(t *testing.T, file string) Fact[[]Device] {
	t.Helper()
	h, _ := described(t, "../../testdata/cases/hosts/"+file+".yaml")
	s := TakeSample(t.Context(), h, func() time.Time { return time.Unix(0, 0) })
	return s.Devices
}

func TestFreeDevicesOfDescribedHosts(t *testing.T) {
	for _, tc := range []struct {
		file string
		free []int // logic ids
		why  string
	}{
		{"openeuler2203-910b3-healthy", []int{0, 1, 2, 3, 4, 5, 6, 7}, ""},
		{"a3-16die-cann85", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, ""},
		{"container-a3-2of16", []int{0, 1}, ""},
		{"kylinv10-300iduo-310p", []int{0, 1, 2, 3}, ""},
		{"mixed-leftover-cann", nil, "six are free, but info -m was not recorded and nobody knows their logic ids"},
		{"orangepi-aipro-310b4", nil, "Alarm, and no process table"},
		{"ubuntu2204-a2-no-driver", nil, "nothing is known"},
		{"ubuntu2004-300ipro-310p3", nil, "npu-smi gives no table"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			devices := devicesOf(t, tc.file)
			got, err := DeviceSet{Free: true}.Pick(devices, 0)
			if d := cmp.Diff(tc.free, got); d != "" {
				t.Errorf("free (-want +got, %s)\n%s\n%+v", tc.why, d, devices)
			}
			var p *report.Problem
			if (tc.free == nil) != errors.As(err, &p) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAnIllBusyOrUnknownDeviceIsNotFree(t *testing.T) {
	used, total := 3400, 65536
	good := Device{Health: "OK", Idle: true, HBM: true, UsedMB: &used, TotalMB: &total}
	if !good.Free(0) || !good.Free(6000) {
		t.Fatal("a healthy idle device is free")
	}
	for name, spoil := range map[string]func(*Device){
		"ill":                    func(d *Device) { d.Health = "Alarm" },
		"health not read":        func(d *Device) { d.Health = "" },
		"held":                   func(d *Device) { d.Processes = []Process{{PID: 1}} },
		"nobody says it is idle": func(d *Device) { d.Idle = false },
		"memory used, unseen by whom": func(d *Device) {
			n := 60000
			d.UsedMB = &n
		},
		"memory not read": func(d *Device) { d.UsedMB = nil },
	} {
		d := good
		if spoil(&d); d.Free(6000) {
			t.Errorf("%s: counted as free", name)
		}
	}
}

func TestParseDevices(t *testing.T) {
	for in, want := range map[string][]int{"0": {0}, "0-3": {0, 1, 2, 3}, "0,2": {0, 2}, "0-1,4-5,7": {0, 1, 4, 5, 7}} {
		got, err := ParseDevices(in)
		if err != nil || !slices.Equal(got.IDs, want) || got.Free {
			t.Errorf("%q: %+v, %v; want %v", in, got, err, want)
		}
	}
	if got, err := ParseDevices("free"); err != nil || !got.Free {
		t.Errorf("free: %+v, %v", got, err)
	}
	for _, in := range []string{"", ",", "a", "1,0", "3,1", "0,0", "2-1", "0-", "-1", "+1", "1 ,2", "0-99999999999", "all", "0-3,2", "free,1"} {
		var p *report.Problem
		if got, err := ParseDevices(in); !errors.As(err, &p) || p.Exit != report.ExitUsage {
			t.Errorf("%q: %+v, %v; want a mistake of use", in, got, err)
		}
	}
}

func TestANamedDeviceMustExist(t *testing.T) {
	devices := devicesOf(t, "container-a3-2of16")
	if got, err := (DeviceSet{IDs: []int{0, 1}}).Pick(devices, 0); err != nil || !slices.Equal(got, []int{0, 1}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := (DeviceSet{IDs: []int{4, 5}}).Pick(devices, 0); err == nil || !strings.Contains(err.Error(), "0 1") {
		t.Errorf("physical ids inside a container: %v; want the logic ids that exist", err)
	}
	if got, err := (DeviceSet{IDs: []int{4}}).Pick(Fact[[]Device]{State: host.Unknown}, 0); err != nil || len(got) != 1 {
		t.Errorf("nothing known: %v, %v; want what was asked for", got, err)
	}
}

// TestSampleJoinsProcessesWithProc: pid of npu-smi; user, age, container and
// command of /proc.
func TestSampleJoinsProcessesWithProc(t *testing.T) {
	replay, _ := described(t, "../../testdata/cases/hosts/mixed-leftover-cann.yaml")
	h := &fakeHost{answer: func(q host.Question) host.Answer {
		if q.Kind == host.Procs {
			if !slices.Equal(q.Args, []string{"411203", "411204"}) {
				t.Errorf("asked about %v", q.Args)
			}
			return says("411203\t1001\tml\t1764288000\tvllm-qwen\tpython3 -m vllm serve\n411204\t0\troot\t-\t-\t[kworker]\n")
		}
		return replay.Ask(t.Context(), []host.Question{q})[0]
	}}
	s := TakeSample(t.Context(), h, time.Now)
	if h.rounds != 2 {
		t.Errorf("%d round trips, want 2", h.rounds)
	}
	devices := s.Devices.Value
	if len(devices) != 8 {
		t.Fatalf("devices %+v", s.Devices)
	}
	want := []Process{{NPU: 6, Chip: 0, PID: 411203, Name: "/opt/py311/bin/", MemoryMB: 43087, User: "ml", UID: 1001,
		Started: time.Unix(1764288000, 0).UTC(), Container: "vllm-qwen", Command: "python3 -m vllm serve"}}
	if d := cmp.Diff(want, devices[6].Processes); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if p := devices[7].Processes[0]; p.User != "root" || p.Container != "" || !p.Started.IsZero() {
		t.Errorf("a process that hides: %+v", p)
	}
}

func TestSampleOfACardThatDoesNotAnswer(t *testing.T) {
	h := &fakeHost{answer: func(q host.Question) host.Answer {
		return host.Answer{State: host.Unknown, Err: host.ErrTimeout}
	}}
	s := TakeSample(t.Context(), h, time.Now)
	if s.Devices.State != host.Unknown || s.Devices.Note != host.ErrTimeout.Error() || h.rounds != 1 {
		t.Errorf("%+v after %d rounds", s.Devices, h.rounds)
	}
}
