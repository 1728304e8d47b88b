package cmd_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/cmd"
)

// typed runs one command line in this process.
func typed(t *testing.T, line string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	home := t.TempDir()
	code = cmd.Main(t.Context(), cmd.App{Out: &o, Err: &e, Now: time.Now, Exec: cmd.Exec, LookPath: func(string) (string, error) { return "", os.ErrNotExist },
		Getenv: func(k string) string { return map[string]string{"HOME": home, "LANG": "C.UTF-8"}[k] }}, strings.Fields(line)[1:])
	return o.String(), e.String(), code
}

// TestTheSuggestedPlanIsTheWholeOne: what preflight says to run next is taken as
// it stands, for every workload preflight takes, and brings the Python set that
// the workload wants where the host has none.
func TestTheSuggestedPlanIsTheWholeOne(t *testing.T) {
	t.Parallel()
	for workload, with := range map[string]string{
		"vllm-ascend@0.23.0": " --with vllm-ascend,cann", "torch": " --with torch_npu,cann", "mindspore@2.7.0": " --with mindspore,cann", "sglang@0.5.9": " --with cann", "mindie": " --with cann",
	} {
		t.Run(workload, func(t *testing.T) {
			t.Parallel()
			said, _, code := typed(t, "ascendctl preflight --host replay:../testdata/cases/hosts/ubuntu2204-a2-no-driver.yaml --for "+workload)
			_, next, ok := strings.Cut(said, "Next: ")
			next = strings.TrimSpace(next)
			if code != 3 || !ok || !strings.HasPrefix(next, "ascendctl install-cann --dry-run ") || !strings.HasSuffix(next, with) {
				t.Fatalf("exit %d, %q", code, next)
			}
			out, errs, code := typed(t, next)
			if code != 3 || !strings.Contains(errs, "install.root") || !strings.Contains(out, "Plan for") {
				t.Errorf("%s: exit %d\n%s", next, code, errs)
			}
		})
	}
	// a host that has the set already is not told to make another
	said, _, _ := typed(t, "ascendctl preflight --host replay:../testdata/cases/hosts/openeuler2203-910b3-healthy.yaml --for om --cann 9.1.0")
	if strings.Contains(said, "--with") {
		t.Errorf("%s", said)
	}
}
