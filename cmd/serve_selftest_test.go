//go:build cgo && linux

package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// TestSelfTestHoldsOnTheDouble in both profiles: every row of the list is asked
// for, and the report that is to be sent names neither host nor folder.
func TestSelfTestHoldsOnTheDouble(t *testing.T) {
	rows, err := os.ReadFile("../compat/self-test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{fakeacl.Old, fakeacl.Split} {
		s := newStage(t, fakeacl.Options{Profile: profile}, `{}`)
		save := filepath.Join(s.dir, "report.json")
		out, err := s.command("serve", "self-test", s.write("model.om", gears().Encode()), "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--save", save).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", profile, err, out)
		}
		text, err := os.ReadFile(save)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Simulated bool
			Items     []struct{ ID string }
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		if want := bytes.Count(rows, []byte("\n  - id: ")); !d.Simulated || len(d.Items) < want-1 || strings.Contains(string(text), s.double.Dir) {
			t.Errorf("%s: %d of %d rows\n%s", profile, len(d.Items), want, text)
		}
		s.clean()
	}
	// A library that behaves otherwise is told by exit 3.
	s := newStage(t, fakeacl.Options{}, `{"faults":[{"call":"aclrtGetMemInfo","every":1,"code":507899}]}`)
	out, err := s.command("serve", "self-test", "--acl-lib", s.double.Dir, "--lock-dir", s.dir).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(string(out), "expected yes, got no") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSelfTestReportsWhatItSawBeforeTheEnd: a host on which it fails is the one
// whose report is wanted. No folder is in it, whatever the failure says.
func TestSelfTestReportsWhatItSawBeforeTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		config, stopped string
		least           int
	}{
		"in the midst": {`{"faults":[{"call":"aclrtMallocHost","at":2,"code":207001}]}`, "the device failed under the test", 8},
		"at once":      {`{"driver":0}`, "ACL does not start", 0},
		"a library":    {"", "cannot be used as ACL library", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, fakeacl.Options{}, c.config)
			save, lib := filepath.Join(s.dir, "report.json"), s.double.Dir
			if c.config == "" {
				lib = compiled("int x;")(t, s.dir)
			}
			out, code := s.refused("serve", "self-test", "--acl-lib", lib, "--lock-dir", s.dir, "--save", save, "-o", "json")
			text, err := os.ReadFile(save)
			if err != nil || code != 1 {
				t.Fatalf("%d %v\n%s", code, err, out)
			}
			var d struct {
				Stopped string
				Items   []struct{ Holds bool }
			}
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(d.Stopped, c.stopped) || len(d.Items) < c.least || strings.Contains(string(text), "/tmp") {
				t.Errorf("%s", text)
			}
		})
	}
}
