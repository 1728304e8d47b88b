package cmd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/cmd"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
)

// TestPathsOfAnOMAreShownOnRequest: they name the folders of whoever built it.
func TestPathsOfAnOMAreShownOnRequest(t *testing.T) {
	om := filepath.Join(t.TempDir(), "net.om")
	f := omtest.File{Generation: omtest.Wide, Name: "net", SoC: "Ascend310P3", Command: "/opt/cann-9.0.0/bin/atc --model=/home/mallory/net.onnx --soc_version=Ascend310P3"}
	if err := os.WriteFile(om, f.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(line ...string) (string, int) {
		var out, errs bytes.Buffer
		code := cmd.Main(context.Background(), cmd.App{Out: &out, Err: &errs, Now: time.Now, Getenv: func(string) string { return "" }}, line)
		return out.String() + errs.String(), int(code)
	}
	for _, format := range []string{"table", "json", "yaml"} {
		if out, code := run("inspect", om, "-o", format); code != 0 || strings.Contains(out, "mallory") || !strings.Contains(out, "Ascend310P3") {
			t.Errorf("%s: exit %d: %s", format, code, out)
		}
		if out, code := run("inspect", om, "-o", format, "--show-paths"); code != 0 || !strings.Contains(out, "/home/mallory/net.onnx") {
			t.Errorf("%s with --show-paths: exit %d: %s", format, code, out)
		}
	}
	// By its content, whatever its name says.
	other := filepath.Join(t.TempDir(), "net.onnx")
	if err := os.Rename(om, other); err != nil {
		t.Fatal(err)
	}
	if out, code := run("serve", other, "--backend", "cpu"); code != 1 || !strings.Contains(out, "an .om runs on an NPU only") {
		t.Errorf("serve: exit %d: %s", code, out)
	}
}
