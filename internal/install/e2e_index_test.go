//go:build linux

package install

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// index serves small wheels of these versions, beside newer ones nobody asked
// for, and gives the address at which the host finds it.
func (w *world) index(t testing.TB, pins ...string) string {
	t.Helper()
	wheels, pages := map[string][]byte{}, map[string][]string{}
	add := func(name, version string) {
		file := strings.ReplaceAll(name, "-", "_") + "-" + version + "-py3-none-any.whl"
		wheels[file] = smallWheel(t, name, version)
		pages[name] = append(pages[name], file)
	}
	for _, pin := range append(pins, "protobuf==3.20.3", "pyyaml", "numpy") { // what vllm and torch-npu bring along
		name, version, exact := strings.Cut(pin, "==")
		if !exact {
			name, version = strings.TrimRight(pin[:strings.IndexAny(pin+"<", "<>=!~")], " "), "2.1.3"
		}
		add(name, version)
		add(name, "99.0")
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		last := words[len(words)-1]
		if data, ok := wheels[last]; ok {
			w.hold("pip")
			if w.spoils() {
				data = append(data[:len(data)-1:len(data)-1], data[len(data)-1]^1)
			}
			_, _ = rw.Write(data)
			return
		}
		if len(pages[last]) == 0 {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		for _, file := range pages[last] {
			sum := sha256.Sum256(wheels[file])
			fmt.Fprintf(rw, "<a href=\"/files/%s#sha256=%x\">%s</a>\n", file, sum, file)
		}
	}))
	t.Cleanup(s.Close)
	w.Serve(t, 8099, s.Listener.Addr().String())
	return "http://127.0.0.1:8099/simple"
}

// requires are what some wheels bring along, as the real ones do.
var requires = map[string]string{"vllm": "Requires-Dist: protobuf\n"}

// smallWheel is the smallest thing pip installs.
func smallWheel(t testing.TB, name, version string) []byte {
	t.Helper()
	module := strings.ReplaceAll(name, "-", "_")
	info := module + "-" + version + ".dist-info"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct{ name, text string }{
		{module + "/__init__.py", fmt.Sprintf("# simulated\n__version__ = %q\n", version)},
		{info + "/METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: simulated\n%s", name, version, requires[name])},
		{info + "/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "/RECORD", fmt.Sprintf("%s/__init__.py,,\n%[2]s/METADATA,,\n%[2]s/WHEEL,,\n%[2]s/RECORD,,\n", module, info)},
	} {
		out, err := z.Create(f.name)
		if err == nil {
			_, err = out.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
