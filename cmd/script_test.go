package cmd_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ascendctl/ascendctl/cmd"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ascendctl": func() { os.Exit(run()) }})
}

// run is main.go with a fixed build, so that screens do not change by commit.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	self, _ := os.Executable()
	return cmd.Main(ctx, cmd.App{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ(), Now: time.Now, Rand: rand.Reader,
		Exec: cmd.Exec, LookPath: exec.LookPath, Self: self,
		Build: cmd.Build{Version: "test", Commit: "0000000"},
	}, os.Args[1:])
}

// TestScripts runs every script of testdata/script against the real Main in
// processes of its own.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(root, "testdata", "script"),
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("ROOT", root)
			e.Setenv("DIGITS", filepath.Join(root, "testdata", "models", "digits"))
			e.Setenv("HOSTS", filepath.Join(root, "testdata", "cases", "hosts"))
			e.Setenv("SMI", filepath.Join(root, "testdata", "cases", "npu-smi"))
			e.Setenv("ORT", library(t, root))
			return os.MkdirAll(e.WorkDir+"/home", 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "schema": schema, "ready": ready, "stop": stop,
		},
	})
}

// code N PROGRAM ARGS... runs a program and wants that exit status; a line of
// ours that the message tells people to run must be one that parses.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	for _, line := range strings.Split(ts.ReadFile("stderr"), "\n") {
		if run, ok := strings.CutPrefix(line, "  run   "+cmd.Name); ok {
			ts.Check(cmd.ParseLine(cmd.Name + run))
		}
	}
	if got != want {
		ts.Fatalf("exit %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// schema NAME FILE holds a JSON document against docs/schema/NAME.json.
func schema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: schema name file")
	}
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(ts.Getenv("ROOT"), "docs", "schema", args[0]+".json"))
	ts.Check(err)
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &doc))
	if err := s.Validate(doc); err != nil {
		ts.Fatalf("%v", err)
	}
}

// ready FILE waits for the ready document of a service in the background and
// puts its addresses into $URL and $ADDR.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready file")
	}
	for range 600 {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil {
			var d struct{ URL, Listen string }
			ts.Check(json.Unmarshal(data, &d))
			ts.Setenv("URL", d.URL)
			ts.Setenv("ADDR", d.Listen)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s did not appear within 30 s", args[0])
}

// stop sends SIGTERM to the programs in the background.
func stop(ts *testscript.TestScript, neg bool, _ []string) {
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGTERM))
	}
}

// library is the ONNX Runtime that `make deps` brought; tests do not skip.
func library(t testing.TB, root string) string {
	t.Helper()
	if named := os.Getenv("ASCENDCTL_ORT_LIB"); named != "" {
		return named
	}
	var found []string
	for _, cache := range []string{os.Getenv("XDG_CACHE_HOME") + "/ascendctl", os.Getenv("HOME") + "/.cache/ascendctl", root + "/.cache/ort"} {
		more, _ := filepath.Glob(cache + "/onnxruntime/*/*/libonnxruntime.so*")
		found = append(found, more...)
	}
	if len(found) == 0 {
		t.Fatal("no ONNX Runtime: run make deps")
	}
	return found[len(found)-1]
}
