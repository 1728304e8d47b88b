package install

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/base64"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func zipOf(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		e, err := w.CreateHeader(&zip.FileHeader{Name: files[i], Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(e, files[i+1])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFromFolder(t *testing.T) {
	run, hdk := noise(3000), zipOf(t, "Ascend-hdk-910b-npu-driver_25.2.0_linux-aarch64.run", "driver", "Ascend-hdk-910b-npu-firmware_7.7.0.6.236.run", "firmware", "x.cms", "sig")
	signed := zipOf(t, "Ascend-cann-toolkit_8.3.RC1_linux-aarch64.zip", string(zipOf(t, "Ascend-cann-toolkit_8.3.RC1_linux-aarch64.run", "toolkit")), "Ascend-cann-toolkit_8.3.RC1_linux-aarch64.zip.cms", "sig")
	dir := t.TempDir()
	plant(t, filepath.Join(dir, "nnal.run"), run)
	plant(t, filepath.Join(dir, "deeper", "hdk.zip"), hdk)
	plant(t, filepath.Join(dir, "deeper", "nnal.run"), []byte("the nearer one counts"))
	plant(t, filepath.Join(dir, "toolkit.zip"), signed)
	plant(t, filepath.Join(dir, "Ascend-cann-910b-ops_8.5.0_linux-aarch64.run"), []byte("ops"))
	plant(t, filepath.Join(dir, "broken.zip"), signed[:80])
	if err := os.Symlink(filepath.Join(dir, "nnal.run"), filepath.Join(dir, "link.run")); err != nil {
		t.Fatal(err)
	}
	driver := []string{"*npu-driver*linux*aarch64.run", "*npu-firmware*.run"}
	for _, c := range []struct {
		name string
		it   Item
		want string // contents, or words of the refusal
		bad  bool
	}{
		{"by its name, verified", Item{Name: "nnal.run", SHA256: digest(run), Size: 3000}, string(run), false},
		{"through a link", Item{Name: "link.run"}, string(run), false},
		{"two parts of a zip", Item{Name: "hdk.zip", SHA256: digest(hdk), Parts: driver}, "driver firmware", false},
		{"a zip inside a zip", Item{Name: "toolkit.zip", Parts: []string{"*toolkit*aarch64.run"}}, "toolkit", false},
		{"the bare run in the place of the zip", Item{Name: "Ascend-cann-910b-ops_8.5.0_linux-aarch64.zip", SHA256: digest(run), Other: []string{"Ascend-cann-910b-ops_8.5.0_linux-aarch64.run"}, Parts: []string{"*ops*.run"}}, "ops", false},
		{"the zip in the place of the bare run", Item{Name: "hdk.run", SHA256: digest(run), Other: []string{"hdk.zip"}, Parts: driver[:1]}, "driver", false},
		{"a part found by its pattern", Item{Name: "ops.zip", Parts: []string{"*910b-ops*aarch64.run"}}, "ops", false},
		{"another digest", Item{Name: "nnal.run", SHA256: digest(hdk)}, "expected sha256 " + digest(hdk), true},
		{"another size", Item{Name: "nnal.run", Size: 3001}, "expected 3001 bytes, got 3000 bytes", true},
		{"not there, a like name is", Item{Name: "nnall.run"}, "did you mean nnal.run", true},
		{"a broken zip", Item{Name: "broken.zip", Parts: driver}, "not a whole zip", true},
		{"a part that is not in the zip", Item{Name: "hdk.zip", Parts: []string{"*x86_64.run"}}, "holds no file *x86_64.run", true},
		{"a pattern for two", Item{Name: "hdk.zip", Parts: []string{"*.run"}}, "two files could be", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := fetcher(t, dir)
			for range 2 { // the second time out of the cache
				got, err := f.Get(t.Context(), []Item{c.it})
				if c.bad {
					refusal(t, err, c.want)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				var all []string
				for _, g := range got {
					all = append(all, string(content(t, g)))
					if g.SHA256 != digest(content(t, g)) || g.Verified != (c.it.SHA256 != "" && len(c.it.Other) == 0) {
						t.Errorf("%+v", g)
					}
				}
				if strings.Join(all, " ") != c.want {
					t.Errorf("got %q", all)
				}
			}
		})
	}
}

func TestDamagedPartsAreUnpackedAgain(t *testing.T) {
	hdk := zipOf(t, "a-driver.run", "driver")
	dir := t.TempDir()
	plant(t, filepath.Join(dir, "hdk.zip"), hdk)
	it := Item{Name: "hdk.zip", Parts: []string{"*driver.run"}}
	f, _ := fetcher(t, dir)
	for range 2 {
		got, err := f.Get(t.Context(), []Item{it})
		if err != nil || string(content(t, got[0])) != "driver" {
			t.Fatal(err)
		}
		plant(t, filepath.Join(f.Cache, "packages", digest(hdk)[:16], "parts", "a-driver.run"), []byte("DRIVER"))
	}
}

// TestZipCannotLeaveItsFolder: names of a zip are only looked at by their last
// element, and what announces a wrong size is refused.
func TestZipCannotLeaveItsFolder(t *testing.T) {
	dir := t.TempDir()
	plant(t, filepath.Join(dir, "evil.zip"), zipOf(t, "../../../../etc/evil-driver.run", "x"))
	f, _ := fetcher(t, dir)
	got, err := f.Get(t.Context(), []Item{{Name: "evil.zip", Parts: []string{"*driver.run"}}})
	if err != nil || got[0].Name != "evil-driver.run" || !strings.HasPrefix(got[0].ReaderAt.(*lazyFile).name, f.Cache) {
		t.Errorf("%+v %v", got, err)
	}
	z := zipOf(t, "a-driver.run", "driver")
	at := bytes.LastIndex(z, []byte("PK\x01\x02"))
	z[at+24] = 4 // uncompressed size in the directory
	plant(t, filepath.Join(dir, "liar.zip"), z)
	again, _ := fetcher(t, dir)
	_, err = again.Get(t.Context(), []Item{{Name: "liar.zip", Parts: []string{"*driver.run"}}})
	refusal(t, err, "damaged")
}

func TestFromThatIsNothing(t *testing.T) {
	for from, want := range map[string]string{
		filepath.Join(t.TempDir(), "absent"): "cannot open",
		"ftp://mirror.example/x":             "cannot read ftp addresses",
	} {
		f, _ := fetcher(t, from)
		_, err := f.Get(t.Context(), []Item{{Name: "x"}})
		refusal(t, err, want)
	}
}

func TestAllMissingFilesAreToldAtOnce(t *testing.T) {
	f, _ := fetcher(t, "")
	_, err := f.Get(t.Context(), []Item{{Name: "a.run"}, {Name: "b.run", Page: "https://support.example/b"}})
	p := refusal(t, err, "2 files are missing")
	if !strings.Contains(p.Why.En, "a.run: no address") || !strings.Contains(p.Why.Zh, "b.run 需登录下载") {
		t.Errorf("%+v", p.Why)
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if v, ok := strings.CutPrefix(p, name+"="); ok {
				return v
			}
		}
		return ""
	}
}

func TestWhichProxyIsAsked(t *testing.T) {
	for _, c := range []struct{ env, address, want string }{
		{"HTTPS_PROXY=http://p:1", "https://mirror.example/x", "http://p:1"},
		{"https_proxy=p:1", "https://mirror.example/x", "http://p:1"},
		{"HTTPS_PROXY=http://p:1", "http://mirror.example/x", ""},
		{"http_proxy=http://p:1", "http://mirror.example/x", "http://p:1"},
		{"ALL_PROXY=socks5://p:1", "https://mirror.example/x", "socks5://p:1"},
		{"ALL_PROXY=http://p:1 NO_PROXY=mirror.example", "https://mirror.example/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=.example", "https://a.mirror.example/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=example", "https://a.mirror.example/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=*.example", "https://a.mirror.example/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=ror.example", "https://mirror.example/x", "http://p:1"},
		{"ALL_PROXY=http://p:1 no_proxy=mirror.example:8443", "https://mirror.example/x", "http://p:1"},
		{"ALL_PROXY=http://p:1 no_proxy=mirror.example:443", "https://mirror.example/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=10.0.0.0/8", "https://10.1.2.3/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=10.0.0.0/8", "https://11.1.2.3/x", "http://p:1"},
		{"ALL_PROXY=http://p:1 no_proxy=[2001:db8::1]", "https://[2001:db8::1]:8443/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=2001:db8::/32", "https://[2001:db8::1]/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=*", "https://mirror.example/x", ""},
		{"ALL_PROXY=http://p:1 no_proxy=a,MIRROR.example", "https://mirror.example/x", ""},
		{"ALL_PROXY=http://p:1", "https://localhost/x", ""},
		{"ALL_PROXY=http://p:1", "https://127.0.0.1:99/x", ""},
		{"ALL_PROXY=http://p:1", "https://[::1]/x", ""},
	} {
		p, err := proxiesOf(env(strings.Fields(c.env)...))
		u, _ := url.Parse(c.address)
		got := p.of(u)
		if err != nil || (got == nil) != (c.want == "") || got != nil && got.String() != c.want {
			t.Errorf("%s for %s: %v %v, want %q", c.env, c.address, got, err, c.want)
		}
	}
	for _, bad := range []string{"HTTP_PROXY=://", "HTTPS_PROXY=gopher://u:hunter2hunter@p:1"} {
		_, err := proxiesOf(env(bad))
		if p := refusal(t, err, "not the address of a proxy"); strings.Contains(p.Error(), "hunter2") {
			t.Error(p)
		}
	}
}

// forward is a real proxy for plain HTTP and for tunnels.
type forward struct {
	to   string // the server that every name leads to; "": where a tunnel asks to go
	user string // user:password it wants
	seen []string
}

func (p *forward) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.seen = append(p.seen, r.Method+" "+r.Host)
	if p.user != "" && r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(p.user)) {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Method == http.MethodConnect {
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer in.Close()
		out, err := net.Dial("tcp", cmp.Or(p.to, r.Host))
		if err != nil {
			return
		}
		defer out.Close()
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(out, in); out.Close() }() // who asked has gone
		_, _ = io.Copy(in, out)
		return
	}
	q := r.Clone(r.Context())
	q.URL.Host, q.RequestURI = p.to, ""
	a, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer a.Body.Close()
	for k, v := range a.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.StatusCode)
	_, _ = io.Copy(w, a.Body)
}

func TestDownloadThroughAProxy(t *testing.T) {
	data := noise(100000)
	m := &mirror{data: data}
	target, _ := url.Parse(m.start(t))
	p := &forward{to: target.Host, user: "corp:pr0xy-secret"}
	s := httptest.NewServer(p)
	defer s.Close()
	it := Item{ID: "x", Name: "x.run", URL: "http://mirror.example/x.run", SHA256: digest(data)}
	f, said := fetcher(t, "")
	f.Env = env("http_proxy=" + strings.Replace(s.URL, "//", "//corp:pr0xy-secret@", 1))
	got, err := f.Get(t.Context(), []Item{it})
	if err != nil || !bytes.Equal(content(t, got[0]), data) || len(p.seen) != 1 || p.seen[0] != "GET mirror.example" {
		t.Errorf("%v %q", err, p.seen)
	}
	wrong, _ := fetcher(t, "")
	wrong.Env = env("http_proxy=" + strings.Replace(s.URL, "//", "//corp:wr0ng-secret@", 1))
	_, err = wrong.Get(t.Context(), []Item{it})
	refusal(t, err, "407")
	// A tunnel: the certificate is not one we trust, so the proxy is seen and the
	// server is not believed.
	tls := httptest.NewUnstartedServer(m)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	p.to = tls.Listener.Addr().String()
	secure, _ := fetcher(t, "")
	secure.Env = env("https_proxy=" + strings.Replace(s.URL, "//", "//corp:pr0xy-secret@", 1))
	it.URL = "https://mirror.example/x.run"
	_, err = secure.Get(t.Context(), []Item{it})
	refusal(t, err, "certificate")
	if len(p.seen) != 3 {
		t.Errorf("a certificate does not get better by asking again: %q", p.seen)
	}
	if last := p.seen[len(p.seen)-1]; last != "CONNECT mirror.example:443" || strings.Contains(said.String()+err.Error(), "secret") {
		t.Errorf("%s\n%s\n%v", last, said, err)
	}
}
