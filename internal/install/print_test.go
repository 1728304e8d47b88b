package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

func TestPrintedLinesDownloadElsewhere(t *testing.T) {
	data := noise(50000)
	m := &mirror{data: data}
	it := Item{ID: "toolkit", Name: "a b's.run", URL: m.start(t) + "/CANN%208/a%20b.run", Size: 50000, SHA256: digest(data), Referer: "https://vendor.example/"}
	f, _ := fetcher(t, "")
	out, err := f.Print(t.Context(), []Item{it, {ID: "old", Name: "old.run", Page: "https://support.example/old"}}, []Wheels{{Requirements: []string{"torch==2.9.0"}, Python: "3.11", Arch: "aarch64", Extra: []string{"https://u:extra-secret@cpu.example/whl"}}})
	if err != nil || len(out) != 3 || m.asked() != 0 {
		t.Fatalf("%+v %v", out, err)
	}
	p := out[0]
	if p.Here || p.Size != 50000 || p.SHA256 != digest(data) || p.Referer != it.Referer {
		t.Errorf("%+v", p)
	}
	// The lines are run by a real shell with a real curl.
	cmd := exec.Command("sh", "-ec", p.Command+" -s; "+p.Check)
	cmd.Dir = t.TempDir()
	said, err := cmd.CombinedOutput()
	m.mu.Lock() // curl's end says nothing to the race detector
	defer m.mu.Unlock()
	if err != nil || m.requests[0].Header.Get("Referer") != it.Referer {
		t.Errorf("%s\n%s\n%s %v", p.Command, p.Check, said, err)
	}
	if out[1].Page != "https://support.example/old" || out[1].Command != "" {
		t.Errorf("%+v", out[1])
	}
	if w := out[2].Command; !strings.HasSuffix(w, "--extra-index-url 'https://***@cpu.example/whl' --dest wheels torch==2.9.0") || !strings.Contains(w, "--platform manylinux2014_aarch64 ") || !strings.Contains(w, "--python-version 311 ") {
		t.Error(w)
	}
}

func TestWhatIsInTheCacheIsSaidToBeHere(t *testing.T) {
	data := noise(50000)
	m := &mirror{data: data}
	it := Item{Name: "a.run", URL: m.start(t), SHA256: digest(data)}
	f, _ := fetcher(t, "")
	if _, err := f.Get(t.Context(), []Item{it}); err != nil {
		t.Fatal(err)
	}
	if out, err := f.Print(t.Context(), []Item{it}, nil); err != nil || !out[0].Here {
		t.Errorf("%+v %v", out, err)
	}
}

func TestAddressesAreShownWithoutSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"https://mirror.example/a%20b.run":       "https://mirror.example/a%20b.run",
		"https://u:p@mirror.example/a":           "https://***@mirror.example/a",
		"https://token@mirror.example":           "https://***@mirror.example",
		"https://u:p%40%2F@mirror.example:8/a@b": "https://***@mirror.example:8/a@b",
		"https://mirror.example/a?x=1&sig=abc":   "https://mirror.example/a?***",
		"https://mirror.example/a#token":         "https://mirror.example/a?***",
		"https://u:p w@mirror.example/":          "***",
		"":                                       "",
	} {
		if got := shownAddress(in); got != want {
			t.Errorf("%q -> %q, want %q", in, got, want)
		}
	}
}

func FuzzShownAddress(f *testing.F) {
	f.Add("https://u:", "p", "@mirror.example/a?x=1")
	f.Add("https://", "p?#/@", "@x")
	f.Fuzz(func(t *testing.T, before, inside, after string) {
		const secret = "s3cr3t-w0rd"
		u, err := url.Parse(before + inside + secret + after)
		if err != nil || u.User == nil && !strings.Contains(u.RawQuery, secret) {
			return
		}
		if pass, _ := u.User.Password(); !strings.Contains(pass+u.RawQuery, secret) {
			return
		}
		if got := shownAddress(before + inside + secret + after); strings.Contains(got, secret) {
			t.Errorf("%q -> %q", before+inside+secret+after, got)
		}
	})
}

// secretShapes gives the corpus of the redactor as texts and their secrets.
func secretShapes(t *testing.T) (texts []string, secrets [][]string) {
	t.Helper()
	data, err := os.ReadFile("../report/testdata/secret-shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), `\n`, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		var hidden []string
		for _, s := range strings.Split(line, "«")[1:] {
			hidden = append(hidden, s[:strings.Index(s, "»")])
		}
		texts = append(texts, strings.NewReplacer("«", "", "»", "").Replace(line))
		secrets = append(secrets, hidden)
	}
	return texts, secrets
}

// TestNoSecretInWhatPeopleRead puts every shape wherever it fits: the words of
// pip and of a server, proxies, indexes, --from, addresses of rows. Nothing of
// it is in problems, the log, the network of a plan, what to download, or a
// manifest.
func TestNoSecretInWhatPeopleRead(t *testing.T) {
	texts, secrets := secretShapes(t)
	if len(texts) < 200 {
		t.Fatalf("only %d shapes", len(texts))
	}
	for i, text := range texts {
		var seen strings.Builder
		say := func(v any, err error) {
			data, _ := json.Marshal(v)
			seen.Write(data)
			var p *report.Problem
			if errors.As(err, &p) {
				fmt.Fprintln(&seen, p.What, p.Why, p.Do, p.Run)
			}
		}
		f, log := fetcher(t, "")
		f.Log = slog.New(slog.NewTextHandler(log, nil))
		f.LookPath = func(string) (string, error) { return "/usr/bin/python3", nil }
		f.Exec = func(_ context.Context, c Tool) ([]byte, int, error) {
			if strings.Contains(strings.Join(c.Argv, " "), "config list") {
				return []byte("global.index-url='https://u:p@x/'\n" + text + "\n"), 0, nil
			}
			return []byte("ERROR: " + text + "\n"), 1, nil
		}
		address := firstAddress(text)
		f.Index = address
		f.Env = env("HTTPS_PROXY="+address, "no_proxy=x")
		w := Wheels{Requirements: []string{"torch==2.9.0"}, Python: "3.11", Arch: "aarch64", Extra: []string{address}}
		if !isWeb(address) {
			w.Extra = nil
		}
		say(f.Network(t.Context()))
		say(f.Wheels(t.Context(), w))
		say(f.Print(t.Context(), []Item{{Name: "x", URL: address}}, []Wheels{w}))
		say(f.Get(t.Context(), []Item{{Name: "x", URL: address, Page: text, Size: 1 << 60}}))
		from, _ := fetcher(t, address)
		say(from.Print(t.Context(), []Item{{Name: "x"}}, nil))
		seen.WriteString(log.String())
		for _, s := range secrets[i] {
			if strings.Contains(seen.String(), s) {
				t.Errorf("%q: %q is left in\n%s", text, s, seen.String())
			}
		}
	}
	t.Logf("%d shapes", len(texts))
}

// firstAddress is the address in a text, to be used as one; without one an
// address is made whose password the text is.
func firstAddress(text string) string {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\"'<>()[],={}", r) }) {
		if strings.HasPrefix(w, "http") && strings.Contains(w, "://") {
			return w
		}
	}
	return ""
}

// TestNoSecretInThePlanAndItsJournal runs a real plan with a file that came
// from an address with secrets.
func TestNoSecretInThePlanAndItsJournal(t *testing.T) {
	data := noise(1000)
	m := &mirror{data: data}
	f, log := fetcher(t, strings.Replace(m.start(t), "//", "//u:fr0m-secret@", 1)+"?sig=qu3ry-secret")
	got, err := f.Get(t.Context(), []Item{{ID: "x", Name: "x.run"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := plan.Plan{Name: "install", Title: report.T("install", "安装"), Again: "ascendctl install-cann", Steps: []plan.Step{{ID: "copy", Title: report.T("copy", "复制"),
		Do: []plan.Act{plan.Upload{Path: dir + "/x.run", Src: got[0], Size: got[0].Size, SHA256: got[0].SHA256, From: got[0].From}}}}}
	made, err := plan.Make(t.Context(), host.NewLocal(), p, plan.Options{Dir: dir + "/journal", Redact: f.Redact})
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := json.Marshal(made.Show())
	if err := plan.Agree(t.Context(), plan.Consent{Yes: true}, made); err != nil {
		t.Fatal(err)
	}
	if _, err := made.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := bytes.NewBuffer(append(shown, log.Bytes()...))
	files := 0
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(name)
			all.Write(text)
			files++
		}
		return nil
	})
	if files < 2 || !strings.Contains(string(shown), "https://***@") && !strings.Contains(string(shown), "http://***@") {
		t.Errorf("%d files, plan %s", files, shown)
	}
	if strings.Contains(all.String(), "-secret") {
		t.Errorf("a secret is in\n%s", all)
	}
}

func TestServerCannotMakeUsSayASecret(t *testing.T) {
	m := &mirror{instead: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/x.run" {
			http.Redirect(w, r, "/signed?X-Amz-Signature=redirect-secret", http.StatusFound)
			return true
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	}}
	f, log := fetcher(t, "")
	_, err := f.Get(t.Context(), []Item{{Name: "x.run", URL: m.start(t) + "/x.run"}})
	p := refusal(t, err, "403")
	if text := p.Error() + p.Why.Zh + log.String(); strings.Contains(text, "secret") {
		t.Error(text)
	}
}
