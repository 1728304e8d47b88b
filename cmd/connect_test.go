//go:build unix

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
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// TestUnknownHostKeyIsAskedFor: shown and asked for where a person is, refused
// where nobody is, and written down once it was accepted.
func TestUnknownHostKeyIsAskedFor(t *testing.T) {
	server := hosttest.Serve(t, hosttest.Config{Password: "hunter22"})
	home := t.TempDir()
	var asked []string
	facts := func(yes string, person bool) (int, string) {
		var out, errs bytes.Buffer
		app := cmd.App{Out: &out, Err: &errs, Now: time.Now, Getenv: func(k string) string {
			return map[string]string{"HOME": home, "LANG": "C.UTF-8"}[k]
		}}
		if person {
			app.Ask = func(_ context.Context, question string, echo bool) (string, error) {
				asked = append(asked, question)
				if !echo {
					return "hunter22", nil
				}
				return yes, nil
			}
		}
		code := cmd.Main(context.Background(), app, []string{"facts", "--host", "tester@" + server.Addr, "--log-level", "debug"})
		return code, out.String() + errs.String()
	}
	if code, text := facts("", false); code != 5 || !strings.Contains(text, "--accept-new-host-key") {
		t.Errorf("nobody there: exit %d\n%s", code, text)
	}
	if code, text := facts("n", true); code != 6 {
		t.Errorf("declined: exit %d\n%s", code, text)
	}
	if len(asked) != 1 || !strings.Contains(asked[0], "SHA256:") {
		t.Errorf("asked %q", asked)
	}
	code, text := facts("y", true)
	if code != 0 || strings.Contains(text, "hunter22") {
		t.Errorf("accepted: exit %d\n%s", code, text)
	}
	known, err := os.ReadFile(filepath.Join(home, ".ssh", "known_hosts"))
	if err != nil || len(known) == 0 {
		t.Errorf("nothing was written down: %v", err)
	}
	asked = nil
	if code, text := facts("n", true); code != 0 {
		t.Errorf("known by now: exit %d\n%s", code, text)
	}
	for _, q := range asked {
		if strings.Contains(q, "SHA256:") {
			t.Errorf("asked again: %s", q)
		}
	}
}
