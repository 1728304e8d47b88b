//go:build cgo && linux

package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/internal/serve"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// wide is gears with rows of n numbers.
func wide(n int64) omtest.File {
	f := gears()
	f.Inputs = []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{8, n}}}
	f.Outputs = []omtest.Tensor{{Name: "y", DType: "FLOAT", Dims: []int64{8, n}}}
	f.GearInputs = [][]int64{{-1, n}}
	return f
}

// echo sends one row of equal numbers to a model that gives its rows back.
func (r *running) echo(model string, n int64, value int) error {
	row := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%d,", value), int(n)), ",")
	body := fmt.Sprintf(`{"inputs":[{"name":"x","datatype":"FP32","shape":[1,%d],"data":[%s]}]}`, n, row)
	resp, err := http.Post(r.url+"/v2/models/"+model+"/infer", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if want := "[" + row + "]"; err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(text), want)) {
		err = fmt.Errorf("%s %d: %s %s, want %s", model, value, resp.Status, text, want)
	}
	return err
}

// on asks how the devices of a model are.
func (r *running) on(model string) []serve.DeviceInfo {
	r.t.Helper()
	status, text := r.get("/v2/models/" + model)
	var d struct {
		Parameters struct{ Devices []serve.DeviceInfo }
	}
	if err := json.Unmarshal(text, &d); err != nil || status != http.StatusOK {
		r.t.Fatalf("%d %v\n%s", status, err, text)
	}
	return d.Parameters.Devices
}

func (r *running) get(path string) (status int, text []byte) {
	r.t.Helper()
	resp, err := http.Get(r.url + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err = io.ReadAll(resp.Body); err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, text
}

// soon waits for something that must come true.
func soon(t testing.TB, what string, true func() bool) {
	t.Helper()
	for n := 0; !true(); n++ {
		if n == 1200 {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestModelsAndInstancesShareTheDevices: two models, two instances of each, on two
// devices are two processes. The end of one costs no model.
func TestModelsAndInstancesShareTheDevices(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{"devices":2,"latency_us":300,"parallel":4}`)
	a, b := wide(4), wide(3)
	r := s.serve(s.write("a.om", a.Encode()), s.write("b.om", b.Encode()), "--device", "0-1", "--instances", "2", "--watchdog-floor", "20s", "--name", "first", "--name", "lab/second")
	ask := func(times int) {
		var all sync.WaitGroup
		for client := range 8 {
			all.Go(func() {
				for k := range times {
					model, n := "first", int64(4)
					if (client+k)%2 == 1 {
						model, n = "lab/second", 3
					}
					if err := r.echo(model, n, 1000*client+k); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	ask(50)
	pids := map[int]bool{}
	for _, model := range []string{"first", "lab/second"} {
		for _, d := range r.on(model) {
			pids[d.PID] = true
			if d.Instances != 2 || d.State != "ready" || len(d.Costs) != 4 {
				t.Errorf("%s: %+v", model, d)
			}
		}
	}
	if len(pids) != 2 {
		t.Errorf("%d processes for two devices", len(pids))
	}
	_ = syscall.Kill(r.on("first")[1].PID, syscall.SIGKILL)
	soon(t, "the device is missed by both models", func() bool { return r.on("first")[1].Starts == 2 && r.on("lab/second")[1].State == "ready" })
	ask(20)
	for _, name := range []string{"first", "lab/second"} {
		if n := r.metric(fmt.Sprintf(`ascendctl_model_ready{model="%s"}`, name)); n != 1 {
			t.Errorf("%s: ready is %v", name, n)
		}
	}
}

// TestAKilledWorkerIsSeenAndComesBack: readiness and metrics tell, the log says
// why, and after a pause the device serves.
func TestAKilledWorkerIsSeenAndComesBack(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{"faults":[{"call":"aclmdlExecuteAsync","at":120,"device_hang_ms":1500}]}`)
	r := s.serve(s.write("model.om", gears().Encode()), "--watchdog-floor", "20s", "--log-file", filepath.Join(s.dir, "log"))
	_ = syscall.Kill(r.on("model")[0].PID, syscall.SIGKILL)
	soon(t, "not ready", func() bool { status, _ := r.get("/readyz"); return status == http.StatusServiceUnavailable })
	if status, text := r.get("/v2/health/ready"); status == http.StatusOK || !strings.Contains(string(text), "npu0 is ") {
		t.Errorf("%d %s", status, text)
	}
	if err := r.echo("model", 4, 1); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("while it is away: %v", err)
	}
	soon(t, "ready again", func() bool { status, _ := r.get("/readyz"); return status == http.StatusOK })
	if n := r.metric(`ascendctl_engine_ends_total{engine="npu0",how="SIGKILL"}`); n != 1 {
		t.Errorf("%v ends", n)
	}
	if n := r.metric(`ascendctl_engine_starts_total{engine="npu0"}`); n != 2 {
		t.Errorf("%v starts", n)
	}
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil || !strings.Contains(string(log), "level=WARN msg=\"engine waiting\" engine=npu0") || !strings.Contains(string(log), "SIGKILL") {
		t.Errorf("%v\n%s", err, log)
	}
	// The stop waits for the run that is out: the one that the device holds up.
	var asked atomic.Int64
	var stopping atomic.Bool
	answered := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !stopping.Load() {
			err = r.echo("model", 4, int(asked.Add(1)))
		}
		answered <- err
	}()
	soon(t, "a run is held up", func() bool {
		before := asked.Load()
		time.Sleep(300 * time.Millisecond)
		return asked.Load() == before
	})
	stopping.Store(true)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	r.ended <- nil // it has ended, and will be asked to once more
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestTheCodeDecidesWhatFollows: what the table of codes calls for is done, the
// caller is told the code, and so is the log.
func TestTheCodeDecidesWhatFollows(t *testing.T) {
	for _, c := range []struct {
		code   int
		action string
		answer string // to the request that met it
		starts int
		log    string // what the supervision did
	}{
		{207001, "unload_something", "500 Internal", 1, ""},
		{507000, "restart_process", "503 Service", 2, "engine stopping"},
		{507015, "reset_device", "503 Service", 2, "engine probing"},
		{507010, "quarantine", "503 Service", 2, "engine quarantined"},
	} {
		t.Run(c.action, func(t *testing.T) {
			s := newStage(t, fakeacl.Options{}, "")
			s.config = fmt.Sprintf(`{"faults":[{"call":"aclmdlExecuteAsync","at":70,"async":%d,"once":%q}]}`, c.code, filepath.Join(s.dir, "once"))
			r := s.serve(s.write("model.om", gears().Encode()), "--watchdog-floor", "20s", "--log-file", filepath.Join(s.dir, "log"))
			var met error
			for k := 0; met == nil && k < 100; k++ {
				met = r.echo("model", 4, k)
			}
			if met == nil || !strings.Contains(met.Error(), c.answer) || !strings.Contains(met.Error(), fmt.Sprint(c.code)) {
				t.Errorf("the request that met it: %v", met)
			}
			soon(t, "it serves again", func() bool { return r.echo("model", 4, 1) == nil })
			d := r.on("model")[0]
			log, err := os.ReadFile(filepath.Join(s.dir, "log"))
			if d.Starts != c.starts || len(d.Faults) != 1 || d.Faults[0].Code != c.code || string(d.Faults[0].Action) != c.action {
				t.Fatalf("%+v, %v\n%s", d, err, log)
			}
			for _, want := range []string{c.log, fmt.Sprintf("code=%d name=%s action=%s", c.code, d.Faults[0].Name, c.action)} {
				if err != nil || !strings.Contains(string(log), want) {
					t.Errorf("%v, does not say %q:\n%s", err, want, log)
				}
			}
		})
	}
}

// TestAKilledFrontLeavesNothing: no worker, no shared memory (it has no name, so it
// ends with the processes), and of its folder nothing after the next start on the
// device.
func TestAKilledFrontLeavesNothing(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{"devices":2}`)
	file := s.write("model.om", gears().Encode())
	r := s.start(file, "--device", "0-1")
	if err := r.await(); err != nil {
		t.Fatal(err)
	}
	workers := r.on("model")
	for _, d := range workers {
		if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", d.PID)); err != nil || strings.Contains(string(maps), " /dev/shm/") {
			t.Errorf("worker %d has memory with a name: %v\n%s", d.PID, err, maps)
		}
	}
	_ = r.cmd.Process.Kill()
	<-r.ended
	for _, d := range workers {
		soon(t, fmt.Sprintf("worker %d is gone", d.PID), func() bool { return syscall.Kill(d.PID, 0) != nil })
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "device-0.lock"))
	var holder struct{ Mark string }
	if err = errors.Join(err, json.Unmarshal(text, &holder)); err != nil || len(holder.Mark) != 26 {
		t.Fatalf("%v: %s", err, text)
	}
	sockets, _ := filepath.Glob(filepath.Join(os.TempDir(), "ascendctl-"+holder.Mark)) // the pattern is good
	if len(sockets) != 1 {
		t.Fatalf("no folder of the front: %v", sockets)
	}
	s.config = `{"soc":"Ascend910B2"}` // the next one gets as far as the device
	if out, code := s.refused("serve", file, "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--listen", "127.0.0.1:0"); code != 1 || !strings.Contains(string(out), "another chip") {
		t.Errorf("%d %s", code, out)
	}
	if _, err := os.Stat(sockets[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", sockets[0], err)
	}
}

// TestTheLockIsThatOfTheDevice, however the runtime counts it.
func TestTheLockIsThatOfTheDevice(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{"devices":2}`)
	file := s.write("model.om", gears().Encode())
	s.env = []string{"ASCEND_RT_VISIBLE_DEVICES=1"}
	r := s.serve(file)
	s.env = nil
	out, code := s.refused("serve", file, "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--listen", "127.0.0.1:0", "--device", "1", "--lang", "zh")
	if want := fmt.Sprintf("进程 %d 自", r.cmd.Process.Pid); code != 1 || !strings.Contains(string(out), "设备 1 已被另一个 ascendctl 占用") || !strings.Contains(string(out), want) {
		t.Errorf("%d %s", code, out)
	}
}
