package infer

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// A worker of these tests is this test binary, started anew: a real process
// with a real socket, whose models run on ONNX Runtime or are simulated.

const workerEnv = "INFER_TEST_WORKER"

// TestWorkerProcess is the worker when a test has started it as one, and else
// nothing.
func TestWorkerProcess(t *testing.T) {
	if os.Getenv(workerEnv) == "" {
		return
	}
	before := goleak.IgnoreCurrent()
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		t.Fatal(err)
	}
	if err := ServeWorker(ctx, l, workerModels(t), WorkerOptions{MaxBytes: 64 << 20}); err != nil {
		t.Error(err)
	}
	stop()
	goleak.VerifyNone(t, before)
}

// workerModels are what a worker of the tests has.
func workerModels(t testing.TB) []Hosted {
	faults := func(n int) *Error {
		switch {
		case n == 5000:
			return &Error{Class: Lost, Code: 507899, Name: "ACL_ERROR_RT_DRV_INTERNAL_ERROR", Detail: "the device is gone"}
		case n > 0 && n%10 == 3:
			return &Error{Class: Failed, Code: 507011, Name: "ACL_ERROR_RT_MODEL_EXECUTE", Detail: "a kernel timed out"}
		case n > 0 && n%10 == 7:
			return &Error{Class: Reject, Code: 100000, Name: "ACL_ERROR_INVALID_PARAM", Detail: "an input is wrong"}
		}
		return nil
	}
	busy := func(rows int64) time.Duration { return time.Duration(rows%3) * 5 * time.Microsecond }
	gears := []Gear{{Rows: 1, Dims: [][]int64{{1, 4}, {1, 2}}}, {Rows: 4, Dims: [][]int64{{4, 4}, {4, 2}}}}
	return []Hosted{
		{Name: "twins", Backend: openORT(t, twins())},
		{Name: "spinner", Backend: openORT(t, spinner())},
		{Name: "sim", Backend: openSim(t, SimOptions{})},
		{Name: "stuck sim", Backend: openSim(t, SimOptions{Cost: func(int64) time.Duration { return 1 << 60 }})},
		{Name: "faulty sim", Backend: openSim(t, SimOptions{Fault: faults, Cost: busy})},
		{Name: "geared sim", Backend: openSim(t, SimOptions{Gears: gears}),
			Costs: []Cost{{Rows: 1}, {1, 4, 3 * time.Millisecond, 5 * time.Millisecond, 1, 2}}},
		{Name: "bytes", Backend: must(t, OpenSim, SimOptions{Signature: bytesSignature()})},
		{Name: "hung", Backend: hung{openSim(t, SimOptions{})}},
	}
}

func must(t testing.TB, open func(SimOptions) (Backend, error), o SimOptions) Backend {
	t.Helper()
	b, err := open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// hung never comes back, whatever its context says.
type hung struct{ Backend }

func (hung) Run(context.Context, *Batch) error { select {} }
func (hung) Probe(context.Context) error       { select {} }
func (h hung) Close() error                    { return h.Backend.Close() }
func (h hung) Describe() Description           { return h.Backend.Describe() }
func dialer(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) }
}

// workerProcess is a worker that a test started.
type workerProcess struct {
	cmd  *exec.Cmd
	path string
	dead bool
}

// startWorker starts a worker. It listens at once, and connections wait until it
// is up. At the end of the test it is asked to leave, and must do so cleanly.
func startWorker(t testing.TB) *workerProcess {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // t.TempDir is too long for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &workerProcess{path: filepath.Join(dir, "s")}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	w.cmd = exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$", "-test.timeout=10m")
	w.cmd.Env = append(os.Environ(), workerEnv+"=1")
	w.cmd.ExtraFiles, w.cmd.Stdout, w.cmd.Stderr = []*os.File{f}, out, out
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []interface{ Close() error }{l, f, out} {
		c.Close()
	}
	t.Cleanup(func() {
		if w.dead {
			return
		}
		_ = w.cmd.Process.Signal(syscall.SIGTERM)
		if err := w.cmd.Wait(); err != nil {
			text, _ := os.ReadFile(out.Name())
			t.Errorf("the worker: %v\n%s", err, text)
		}
	})
	return w
}

// kill ends the worker as the kernel would.
func (w *workerProcess) kill() {
	w.dead = true
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}

func connect(t testing.TB, w *workerProcess, o RemoteOptions) *Remote {
	t.Helper()
	o.Dial = dialer(w.path)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // it may still be loading
	defer cancel()
	r, err := Connect(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// bytesSignature is a model that gives back a row of bytes of any length.
func bytesSignature() oip.Signature {
	port := func(name string) []oip.Port {
		return []oip.Port{{Name: name, DType: ascend.Uint8, Dims: []int64{-1}, DimNames: []string{"n"}}}
	}
	return oip.Signature{Inputs: port("x"), Outputs: port("y")}
}

func bytesBatch(in, out []byte) *Batch {
	return &Batch{
		Inputs:  []oip.Tensor{{Name: "x", DType: ascend.Uint8, Shape: []int64{int64(len(in))}, Data: in}},
		Outputs: []oip.Tensor{{Name: "y", Data: out}},
	}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, strconv.Itoa(os.Getpid())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// inProcess is a worker in this process, for what can only be seen there; stop
// ends it.
func inProcess(t testing.TB, b Backend, arena int64) (*Remote, func()) {
	t.Helper()
	l := listen(t)
	ctx, leave := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- ServeWorker(ctx, l, []Hosted{{Backend: b}}, WorkerOptions{}) }()
	r, err := Connect(ctx, RemoteOptions{Dial: dialer(l.Addr().String()), Arena: arena})
	if err != nil {
		t.Fatal(err)
	}
	return r, func() {
		t.Helper()
		leave()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}
