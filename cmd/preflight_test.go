package cmd_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/cmd"
	"github.com/ascendctl/ascendctl/internal/check"
	"github.com/ascendctl/ascendctl/internal/host"
)

// TestOriginsOfATargetAreReal: each flag of the table is a flag of preflight,
// each key one of the hosts file.
func TestOriginsOfATargetAreReal(t *testing.T) {
	values := map[string]string{"for": "vllm-ascend", "soc": "a3", "task": "serve", "nodes": "2", "device": "0", "installs": "cann", "peer": "192.0.2.1", "listen": "8000"}
	for _, o := range check.Origins() {
		if o.Flag != "" {
			line := "ascendctl preflight --" + o.Flag
			if o.Flag != "online" && o.Flag != "deep" {
				v := values[o.Flag]
				if v == "" {
					v = "x"
				}
				line += " " + v
			}
			if err := cmd.ParseLine(line); err != nil {
				t.Errorf("target.%s: %s: %v", o.Field, line, err)
			}
		}
		if o.Key != "" {
			value := map[string]string{"managed": "[driver]", "product": "Atlas 300I Duo", "install_path": "/opt/Ascend"}[o.Key]
			if _, err := host.LoadHosts("hosts.yaml", []byte("version: 1\nhosts:\n  a: {"+o.Key+": "+value+"}\n")); err != nil {
				t.Errorf("target.%s: the hosts file has no key %s: %v", o.Field, o.Key, err)
			}
		}
	}
}

// inProcess runs a command line here.
func inProcess(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = cmd.Main(context.Background(), cmd.App{Out: &out, Err: &errs, Now: time.Now, Getenv: func(string) string { return "" }}, args)
	return out.String(), errs.String(), code
}

// TestPreflightOfTwoHostsAsJUnit is the whole way: two recordings that differ,
// compared, for a CI system.
func TestPreflightOfTwoHostsAsJUnit(t *testing.T) {
	file := filepath.Join(casesFolder("hosts"), "openeuler2203-910b3-healthy.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.yaml")
	odd := strings.Replace(string(data), "Version=24.1.rc3", "Version=24.1.rc2", 1)
	if odd == string(data) {
		t.Fatal("nothing to change")
	}
	if err := os.WriteFile(other, []byte(odd), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := inProcess("preflight", "--host", "replay:"+file, "--host", "replay:"+other, "--for", "vllm-ascend", "--nodes", "2", "-o", "junit")
	var got struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(out), &got); err != nil || len(got.Suites) != 3 || code != 3 {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, errs, out)
	}
	failed := map[string]bool{}
	for _, c := range got.Suites[2].Cases {
		failed[c.Name] = c.Failure != nil
	}
	if !failed["fleet.driver"] || failed["fleet.cann"] {
		t.Errorf("across the hosts: %v", failed)
	}
	if _, _, code := inProcess("version", "-o", "junit"); code != 64 {
		t.Errorf("only preflight writes JUnit: exit %d", code)
	}
}
