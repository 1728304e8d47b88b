//go:build cgo && linux

package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/ascendctl/ascendctl/cmd"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// refusal is a start that must fail, and what must be said: a piece of what, of
// why and of do ("" for any).
type refusal struct {
	file   []byte // of the model; nil: a good one
	lib    fakeacl.Options
	acl    func(t *testing.T, dir string) string // makes the library in place of the double
	config string
	env    []string
	args   []string
	what   report.Text
	why    string
	do     string
}

// refusals are the bad inputs of an .om and the hosts that cannot run one.
func refusals() map[string]refusal {
	good := gears().Encode()
	with := func(change func(*omtest.File)) []byte {
		f := gears()
		change(&f)
		return f.Encode()
	}
	says := report.T
	chip, load := says("compiled for another chip", "是为其他芯片编译的"), says("the device does not load", "设备无法加载")
	start, noBudget := says("ACL does not start", "ACL 初始化失败"), says("do not fit on device 0", "设备 0 内存不足")
	died := says("the worker of device 0 ended while it started", "设备 0 的 worker 在启动过程中退出")
	older := []string{"--runtime-version", "7.6.0.1.220"}
	return map[string]refusal{
		"another chip":   {config: `{"soc":"Ascend910B2"}`, what: chip, why: "for Ascend310P3, device 0 is Ascend910B2", do: "--soc_version=Ascend910B2"},
		"cut short":      {file: good[:len(good)-100], what: says("cut short", "不完整"), do: "copy or download the file again"},
		"a head alone":   {file: good[:100], what: says("cut short", "不完整"), do: "copy or download the file again"},
		"no bytes":       {file: []byte{}, what: says("is an empty file", "0 字节")},
		"encrypted":      {file: with(func(f *omtest.File) { f.Encrypted = true }), what: says("not one that can be read", "无法读取"), why: "encrypted", do: "without --encrypt_mode"},
		"a bundle":       {file: with(func(f *omtest.File) { f.Type = 5 }), what: says("bundle", "bundle")},
		"unknown shapes": {file: with(unknownShapes), what: says("cannot be served", "无法提供"), why: "unknown shapes", do: "--dynamic_batch_size"},
		"over the budget": {file: with(func(f *omtest.File) { f.Work = 10 << 30 }), what: noBudget,
			why: "needed 10.00 GiB: model 1 x (weights 0.0 MiB + work 10.00 GiB + inputs and outputs 0.0 MiB); kept back 51.2 MiB, free on the device: 1", do: "fewer models or instances"},
		"instances over the budget": {file: with(func(f *omtest.File) { f.Work = 300 << 20 }), args: []string{"--instances", "4"}, what: noBudget,
			why: "model 4 x (weights 0.0 MiB + work 300.0 MiB", do: "fewer models or instances"},

		"over the memory of a board": {config: `{"run_mode":"device","memory":70368744177664}`, file: with(func(f *omtest.File) { f.Work = 1 << 40 }), what: noBudget,
			why: "available to the system (MemAvailable): ", do: "fewer models or instances"},

		"no driver":              {config: `{"driver":0}`, what: start, why: "aclInit: ACL_ERROR_INTERNAL_ERROR (500000)", do: "load the driver"},
		"no library of a chip":   {config: `{"backend":0}`, what: start, why: "libruntime_v100.so: cannot open", do: "environment of CANN"},
		"no device":              {config: `{"devices":0}`, what: start, why: "Device not found or invalid", do: "load the driver"},
		"no such device":         {args: []string{"--device", "7"}, what: says("device 7 cannot be used", "无法使用设备 7"), why: "107001"},
		"one device missing":     {config: `{"devices":2}`, args: []string{"--device", "1-2"}, what: says("device 2 cannot be used", "无法使用设备 2"), why: "107001"},
		"a list that is refused": {env: []string{"ASCEND_RT_VISIBLE_DEVICES=x"}, what: says("device 0 cannot be used", "无法使用设备 0"), why: `ASCEND_RT_VISIBLE_DEVICES is "x"`, do: "choose a device of that list"},
		"a sick device":          {config: `{"starts":0}`, what: says("device 0 cannot be used", "无法使用设备 0"), why: "507033): device 0 cannot be set up", do: "npu-smi info"},
		"a newer compiler": {config: `{"faults":[{"call":"aclmdlLoadFromFile","code":507009}]}`, args: older, what: load,
			why: "compiled by ATC 7.7.0.1.238, the runtime here is 7.6.0.1.220, which is older", do: "compile it with the CANN of this host"},
		"a load that fails":       {config: `{"faults":[{"call":"aclmdlLoadFromFile","code":245002}]}`, what: load, why: "245002"},
		"a worker that is killed": {config: `{"faults":[{"call":"aclmdlLoadFromFile","kill":true}]}`, what: died, why: "SIGKILL"},
		"a worker that aborts":    {config: `{"faults":[{"call":"aclInit","abort":true}]}`, what: died, why: "SIGABRT"},

		// What the loader says (glibc), each for its reason.
		"no library":                 {args: []string{"--acl-lib", "/nowhere/libascendcl.so"}, what: says("CANN is not installed here", "未安装 CANN"), why: "/nowhere/libascendcl.so: cannot open", do: "ASCEND_HOME_PATH"},
		"no driver library":          {lib: fakeacl.Options{NoDriver: true}, what: says("libraries of the NPU driver are missing", "缺少 NPU 驱动的动态库"), why: "libascend_hal.so: cannot open", do: "mount /usr/local/Ascend/driver"},
		"no neighbours":              {acl: without("libruntime.so"), what: says("not the libraries beside it", "缺少其同目录的动态库"), why: "libruntime.so: cannot open", do: "load the environment of CANN"},
		"two releases":               {acl: compiled("extern int other(void); int aclInit(const char *p) { return p != 0 && other(); }"), what: says("two CANN releases are mixed", "混用了两个版本"), why: "undefined symbol: other", do: "leave one CANN release"},
		"an older host":              {acl: newerLibc, what: says("host is older than the CANN package", "主机版本低于 CANN 包的要求"), why: "version `GLIBC_2.99' not found", do: "conda"},
		"too late":                   {acl: compiled("__attribute__((tls_model(\"initial-exec\"))) __thread char x[1 << 20]; void *aclInit(void) { return x; }"), what: says("too late into this process", "加载过晚"), why: "static TLS block", do: "LD_PRELOAD"},
		"not a library":              {acl: holding("version https://git-lfs.github.com/spec/v1\n"), what: says("another architecture or damaged", "其他架构或已损坏"), why: "file too short", do: "this architecture"},
		"half a library":             {acl: holding(strings.Repeat("no library ", 500)), what: says("another architecture or damaged", "其他架构或已损坏"), why: "invalid ELF header", do: "this architecture"},
		"not ACL":                    {acl: compiled("int x;"), what: says("cannot be used as ACL library", "不能用作 ACL 库"), why: "lacks the function aclInit", do: "complete CANN"},
		"an .om on the CPU":          {args: []string{"--backend", "cpu"}, what: says("cannot be served", "无法提供"), why: "never on the CPU", do: "ONNX model"},
		"a list that is none":        {args: []string{"--device", "1-0"}, what: says("1-0", "1-0")},
		"two devices in one process": {args: []string{"--device", "0-1", "--single-process"}, what: says("one process serves one device", "单进程只使用一个设备"), do: "--device"},
		"instances in one process":   {args: []string{"--instances", "2", "--single-process"}, what: says("one process runs one instance", "单进程只运行一个实例"), do: "--single-process"},
		"names that do not match":    {args: []string{"--name", "a", "--name", "b"}, what: says("2 names for 1 models", "1 个模型，2 个名称"), do: "--name once for each model"},
	}
}

func unknownShapes(f *omtest.File) {
	f.Gears, f.GearInputs, f.Dynamic = model.Gears{}, nil, true
	f.Inputs = []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{-1, 4}, Range: [][2]int64{{1, 64}, {4, 4}}}}
}

// TestWhatCannotBeServedOnAnNPUSaysWhy in both languages: once, finally, with a
// fix and a command that exists.
func TestWhatCannotBeServedOnAnNPUSaysWhy(t *testing.T) {
	for name, c := range refusals() {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.lib, c.config)
			s.env = c.env
			if c.file == nil {
				c.file = gears().Encode()
			}
			file, lib := s.write("model.om", c.file), s.double.Dir
			if c.acl != nil {
				lib = c.acl(t, t.TempDir())
			}
			args := []string{"serve", file, "--listen", "127.0.0.1:0", "--lock-dir", s.dir, "-o", "json"}
			if !slices.Contains(c.args, "--acl-lib") {
				args = append(args, "--acl-lib", lib)
			}
			out, code := s.refused(append(args, c.args...)...)
			var p report.ProblemJSON
			if err := json.Unmarshal(out, &p); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if e := p.Error; code != 1 && code != 64 || int(e.Exit) != code || e.Do == nil {
				t.Errorf("status %d\n%s", code, out)
			} else {
				told(t, c, e.What, e.Why, *e.Do)
			}
			if run := p.Error.Run; strings.HasPrefix(run, cmd.Name+" ") {
				if err := cmd.ParseLine(run); err != nil {
					t.Errorf("%q: %v", run, err)
				}
			}
			s.clean()
		})
	}
}

// told wants the expected pieces, and Chinese in all that is Chinese.
func told(t *testing.T, c refusal, what report.Text, why *report.Text, do report.Text) {
	t.Helper()
	if why == nil {
		why = new(report.Text)
	}
	for _, piece := range [][2]string{{what.En, c.what.En}, {what.Zh, c.what.Zh}, {why.En, c.why}, {do.En, c.do}} {
		if !strings.Contains(piece[0], piece[1]) {
			t.Errorf("does not say %q: %q", piece[1], piece[0])
		}
	}
	if !strings.ContainsFunc(do.Zh, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		t.Errorf("what to do is not in Chinese: %q", do.Zh)
	}
}

// refused runs the product until it ends, which must be soon, and gives what it
// said and its status.
func (s *stage) refused(args ...string) (out []byte, code int) {
	s.t.Helper()
	run := s.command(args...)
	var all bytes.Buffer
	run.Stdout, run.Stderr = &all, &all
	stop := time.AfterFunc(30*time.Second, func() { _ = run.Process.Signal(syscall.SIGABRT) })
	defer stop.Stop()
	var exit *exec.ExitError
	if err := run.Run(); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return all.Bytes(), run.ProcessState.ExitCode()
}

// gcc makes a shared library in dir from a text.
func gcc(t *testing.T, dir, name, text string, more ...string) string {
	t.Helper()
	at := filepath.Join(dir, name)
	c := exec.Command("gcc", append([]string{"-shared", "-fPIC", "-Wl,-soname," + name, "-o", at, "-xc", "-"}, more...)...)
	c.Dir, c.Stdin = dir, strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return at
}

const aclName = "libascendcl.so"

func compiled(text string) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string { return gcc(t, dir, aclName, text) }
}

func holding(text string) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		at := filepath.Join(dir, aclName)
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return at
	}
}

// without makes a library whose neighbour is gone.
func without(neighbour string) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		beside := gcc(t, dir, neighbour, "int x;")
		at := gcc(t, dir, aclName, "int y;", "-Wl,--no-as-needed", "-L.", "-l:"+neighbour)
		if err := os.Remove(beside); err != nil {
			t.Fatal(err)
		}
		return at
	}
}

// newerLibc makes a library that wants a version of its neighbour which that one
// does not have, as a library built on a newer system does.
func newerLibc(t *testing.T, dir string) string {
	t.Helper()
	version := func(v string) string {
		at := filepath.Join(dir, v)
		if err := os.WriteFile(at, fmt.Appendf(nil, "%s { global: *; };\n", v), 0o644); err != nil {
			t.Fatal(err)
		}
		return "-Wl,--version-script=" + at
	}
	gcc(t, dir, "libnew.so", "int f(void) { return 1; }", version("GLIBC_2.99"))
	at := gcc(t, dir, aclName, "int f(void); int aclInit(void) { return f(); }", "-L.", "-l:libnew.so", "-Wl,-rpath,"+dir)
	gcc(t, dir, "libnew.so", "int f(void) { return 1; }", version("GLIBC_2.17"))
	return at
}
