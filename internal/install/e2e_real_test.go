//go:build linux

package install_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/install"
)

// BenchmarkRealPythonSet lets the product put the pinned torch and torch-npu of
// a row into a venv, from the index that this machine's pip asks: the only
// thing here that is not simulated. facts read them back, and undo takes them
// away. It brings and unpacks several gigabytes, so only make proof-04 runs it.
func BenchmarkRealPythonSet(b *testing.B) {
	bare := install.LayOnline(b, b.TempDir())
	folder, _ := bare.Installers(b, "9.0.0", "torch_npu")
	p := newcomer(b, bare, "en", folder)
	at := " --host npu01 --hosts " + filepath.Join(p.home, "hosts.yaml")
	run := func(line string) string {
		said, code := p.types(line + at)
		if code != 0 {
			b.Fatalf("%s: exit %d\n%s", line, code, said)
		}
		return said
	}
	run("ascendctl install-cann --user-install --cann 9.0.0 --yes --from " + folder)
	began := time.Now()
	said := run("ascendctl install-cann --user-install --cann 9.0.0 --with torch_npu --yes")
	took := time.Since(began)
	if !strings.Contains(said, "goes in with --no-deps") {
		b.Errorf("the plan does not say how torch-npu goes in:\n%s", said)
	}
	venv := "/home/" + bare.User() + "/ascend-venv-torch_npu-9.0.0"
	bare.WriteFile(b, "/home/"+bare.User()+"/.bashrc", ". "+venv+"/bin/activate\n", 0o644)
	var facts struct {
		Hosts []struct {
			Facts struct {
				Packages struct{ Value map[string]string } `json:"python_packages"`
			} `json:"facts"`
		} `json:"hosts"`
	}
	typed := p.typed.String()
	if err := json.Unmarshal([]byte(run("ascendctl facts -o json")), &facts); err != nil || len(facts.Hosts) != 1 {
		b.Fatalf("facts: %v", err)
	}
	got := facts.Hosts[0].Facts.Packages.Value
	p.typed.Reset() // the whole answer is long
	fmt.Fprintf(&p.typed, "%s$ ascendctl facts -o json%s\n... python_packages: torch %s, torch-npu %s, and %d others\n[exit 0]\n\n", typed, p.hide.Replace(at), got["torch"], got["torch-npu"], len(got)-2)
	b.Logf("facts see torch %s, torch-npu %s and %d packages in all", got["torch"], got["torch-npu"], len(got))
	// torch loads torch-npu when it is imported, which fails without CANN and a driver.
	b.Logf("torch says it is %s", strings.TrimSpace(bare.Sh(b, "TORCH_DEVICE_BACKEND_AUTOLOAD=0 "+venv+"/bin/python -c 'import torch; print(torch.__version__)'")))
	kib, _ := strconv.Atoi(strings.Fields(bare.Sh(b, "du -sk "+venv))[0])
	run("ascendctl undo --user-install --yes")
	if left := bare.Sh(b, "ls -d "+venv+" 2>/dev/null || :"); left != "" {
		b.Errorf("after undo %s is still there", left)
	}
	b.ReportMetric(took.Seconds(), "s/install")
	b.ReportMetric(float64(kib)/(1<<20), "GiB")
	if *transcripts != "" {
		text := regexp.MustCompile(`(?m)^npu01 .* waiting for .*\n`).ReplaceAllString(p.typed.String(), "")
		if err := os.WriteFile(filepath.Join(*transcripts, "04-venv.txt"), []byte(text), 0o644); err != nil {
			b.Error(err)
		}
	}
}
