package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
)

// The numbers are those of the conformance list (facts: serving.md 1.7); what
// concerns the codec alone is tested there. C107, every error body is JSON with
// error, is demanded by want of every answer of every subtest.

func TestConformanceHealthAndMetadata(t *testing.T) {
	r := newRig(t, Config{Version: "1.2.3", Models: []Model{
		loaded("pair", pair(t, infer.SimOptions{})),
		loaded("org/a b", line(t, 3, infer.SimOptions{})), loaded("模型", line(t, 3, infer.SimOptions{})),
		loaded("100%", line(t, 3, infer.SimOptions{})), loaded("org/a b/versions/1", line(t, 3, infer.SimOptions{})),
	}}, front.Options{})
	t.Run("C01 live", func(t *testing.T) {
		if got := r.want(200, "GET", "/v2/health/live", ""); got["live"] != true {
			t.Errorf("got %v", got)
		}
	})
	t.Run("C05 ready has ready and live", func(t *testing.T) {
		if got := r.want(200, "GET", "/v2/health/ready", ""); got["ready"] != true || got["live"] != true {
			t.Errorf("got %v", got)
		}
	})
	t.Run("C06 and C18 other verbs are 405 with Allow", func(t *testing.T) {
		for path, allow := range map[string]string{
			"/v2": "GET, HEAD", "/v2/health/live": "GET, HEAD", "/v2/health/ready": "GET, HEAD",
			"/v2/models/pair": "GET, HEAD", "/v2/models/pair/ready": "GET, HEAD", "/v2/models/pair/stats": "GET, HEAD",
			"/v2/models/stats": "GET, HEAD", "/v2/models/pair/infer": "POST",
		} {
			for _, verb := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
				if strings.Contains(allow, verb) {
					continue
				}
				r.want(405, verb, path, "")
				if got := r.ask(verb, path, "").header.Get("Allow"); got != allow {
					t.Errorf("%s %s: Allow %q, want %q", verb, path, got, allow)
				}
			}
			if allow != "POST" {
				r.want(200, "HEAD", path, "")
			}
		}
	})
	t.Run("C07 and C08 server metadata", func(t *testing.T) {
		for _, path := range []string{"/v2", "/v2/"} {
			got := r.want(200, "GET", path, "")
			if got["name"] != "ascendctl" || got["version"] != "1.2.3" || !slices.Contains(got["extensions"].([]any), "binary_tensor_data") {
				t.Errorf("%s: %v", path, got)
			}
		}
	})
	t.Run("C09, C10 and C12 model metadata", func(t *testing.T) {
		for _, path := range []string{"/v2/models/pair", "/v2/models/pair/versions/1", "/v2/models/pair/"} {
			got := r.want(200, "GET", path, "")
			r.keys(got, "name", "versions", "platform", "inputs", "outputs")
			want := []any{
				map[string]any{"name": "a", "datatype": "FP32", "shape": []any{-1.0, 2.0}},
				map[string]any{"name": "n", "datatype": "INT64", "shape": []any{-1.0}},
			}
			if !reflect.DeepEqual(got["inputs"], want) {
				t.Errorf("%s: inputs %v, want %v", path, got["inputs"], want)
			}
			if p := got["parameters"].(map[string]any); p["simulated"] != true || p["device"] != "simulated, not an NPU" || p["max_batch"] != 32.0 {
				t.Errorf("%s: parameters %v do not say that the device is simulated", path, p)
			}
		}
	})
	t.Run("C11, C13, C14 and C16 unknown names and versions", func(t *testing.T) {
		for _, path := range []string{
			"/v2/models/none", "/v2/models/none/ready", "/v2/models/none/stats", "/v2/models/none/versions/1", "/v2/models/pai",
			"/v2/models/pairs", "/v2/models/", "/v2/models/pair/versions/2", "/v2/models/pair/versions/2/ready", "/v2/models/pair/versions/x",
			"/v2/models/pair/versions/", "/v2/models/pair/config", "/v2/none", "/v1/models/pair", "/", "/v2/models", "/v22/health/live",
		} {
			r.want(404, "GET", path, "")
		}
		r.want(404, "POST", "/v2/models/none/infer", onePair)
		r.want(404, "POST", "/v2/models/pair/versions/2/infer", onePair)
	})
	t.Run("C15 model ready", func(t *testing.T) {
		for _, path := range []string{"/v2/models/pair/ready", "/v2/models/pair/versions/1/ready"} {
			if got := r.want(200, "GET", path, ""); got["name"] != "pair" || got["ready"] != true {
				t.Errorf("%s: %v", path, got)
			}
		}
	})
	t.Run("C17 names of all kinds", func(t *testing.T) {
		for path, want := range map[string]string{
			"org/a%20b": "org/a b", "org%2Fa%20b": "org/a b", url.PathEscape("模型"): "模型", "100%25": "100%",
			"org/a%20b/versions/1": "org/a b/versions/1", // the longest name wins
		} {
			if got := r.want(200, "GET", "/v2/models/"+path, ""); got["name"] != want {
				t.Errorf("%s is %v, want %s", path, got["name"], want)
			}
			r.want(200, "GET", "/v2/models/"+path+"/versions/1/ready", "")
			got := r.want(200, "POST", "/v2/models/"+path+"/infer", `{"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]}]}`)
			if got["model_name"] != want {
				t.Errorf("%s: model_name %v, want %s", path, got["model_name"], want)
			}
		}
	})
}

func TestConformanceLoadingAndFailing(t *testing.T) {
	gate := make(chan struct{})
	slow := Model{"slow", func(ctx context.Context) (infer.Backend, error) {
		select {
		case <-gate:
			return line(t, 1, infer.SimOptions{}), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	r := lazyRig(t, Config{Models: []Model{loaded("pair", pair(t, infer.SimOptions{})), slow}}, front.Options{})
	started := make(chan error, 1)
	go func() { started <- r.svc.Start(t.Context()) }()
	until(t, "the first model is ready", func() bool { return r.ask("GET", "/v2/models/pair/ready", "").status == 200 })
	t.Run("C02 live while models load", func(t *testing.T) { r.want(200, "GET", "/v2/health/live", "") })
	t.Run("C03 and C04 not ready until all are", func(t *testing.T) {
		if got := r.want(503, "GET", "/v2/health/ready", ""); got["ready"] != false {
			t.Errorf("got %v", got)
		}
		r.want(503, "GET", "/v2/models/slow/ready", "")
		r.want(503, "GET", "/v2/models/slow", "")
		r.want(503, "POST", "/v2/models/slow/infer", "{}")
		r.want(200, "POST", "/v2/models/pair/infer", onePair)
		close(gate)
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		r.want(200, "GET", "/v2/health/ready", "")
		if err := r.svc.Ready(); err != nil {
			t.Errorf("Ready: %v", err)
		}
	})
}

func TestConformanceInfer(t *testing.T) {
	r := newRig(t, Config{Models: []Model{loaded("pair", pair(t, infer.SimOptions{}))}}, front.Options{MaxBody: 1 << 20})
	const path = "/v2/models/pair/infer"
	names := func(got map[string]any) (all []string) {
		for _, o := range got["outputs"].([]any) {
			all = append(all, o.(map[string]any)["name"].(string))
		}
		return all
	}
	with := func(more string) string { return onePair[:len(onePair)-1] + "," + more + "}" }
	t.Run("C19 to C21 all outputs, id, model and version", func(t *testing.T) {
		a := r.ask("POST", path, onePair)
		want := `{"model_name":"pair","model_version":"1","id":"7","outputs":[` +
			`{"name":"ya","datatype":"FP32","shape":[1,2],"data":[1.5,-2]},` +
			`{"name":"yn","datatype":"INT64","shape":[1],"data":[9007199254740993]}]}`
		if string(a.body) != want || a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Ascendctl-Simulated") != "true" {
			t.Errorf("got %v %s\nwant %s", a.header, a.body, want)
		}
		if got := r.want(200, "POST", "/v2/models/pair/versions/1/infer", strings.Replace(onePair, `"id":"7",`, "", 1)); got["id"] != nil {
			t.Errorf("an id was invented: %v", got["id"])
		}
	})
	t.Run("C22 outputs subset, in the order of the request", func(t *testing.T) {
		if got := names(r.want(200, "POST", path, with(`"outputs":[{"name":"yn"}]`))); !slices.Equal(got, []string{"yn"}) {
			t.Errorf("got %v", got)
		}
		if got := names(r.want(200, "POST", path, with(`"outputs":[{"name":"yn"},{"name":"ya"}]`))); !slices.Equal(got, []string{"yn", "ya"}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("C23 to C25 duplicate and unknown names", func(t *testing.T) {
		r.want(400, "POST", path, with(`"outputs":[{"name":"ya"},{"name":"ya"}]`))
		r.want(400, "POST", path, with(`"outputs":[{"name":"none"}]`))
		r.want(400, "POST", path, strings.Replace(onePair, `"n"`, `"none"`, 1))
	})
	t.Run("C51 any Content-Type", func(t *testing.T) {
		for _, ct := range []string{"application/json", "application/x-www-form-urlencoded", "text/plain; charset=utf-8", "nonsense"} {
			r.want(200, "POST", path, onePair, "Content-Type", ct)
		}
		r.want(200, "POST", path, onePair)
	})
	t.Run("C52 and C53 Content-Encoding", func(t *testing.T) {
		var zipped, deflated bytes.Buffer
		for _, w := range []io.WriteCloser{gzip.NewWriter(&zipped), zlib.NewWriter(&deflated)} {
			_, _ = io.WriteString(w, onePair)
			w.Close()
		}
		r.want(200, "POST", path, zipped.String(), "Content-Encoding", "gzip", "Accept-Encoding", "gzip, deflate")
		r.want(200, "POST", path, deflated.String(), "Content-Encoding", "deflate")
		r.want(415, "POST", path, onePair, "Content-Encoding", "br")
		r.want(400, "POST", path, onePair, "Content-Encoding", "gzip")
	})
	t.Run("C58 a body over the limit", func(t *testing.T) {
		r.want(413, "POST", path, strings.Repeat(" ", 1<<20+1))
		r.want(200, "POST", path, onePair)
	})
	t.Run("binary in and out", func(t *testing.T) {
		head := `{"inputs":[{"name":"n","shape":[1],"datatype":"INT64","parameters":{"binary_data_size":8}},` +
			`{"name":"a","shape":[1,2],"datatype":"FP32","data":[[1,2]]}],"parameters":{"binary_data_output":true}}`
		blob := "\x01\x02\x03\x04\x05\x06\x07\x08"
		a := r.ask("POST", path, head+blob, "Inference-Header-Content-Length", fmt.Sprint(len(head)))
		if a.status != 200 || a.header.Get("Content-Type") != "application/octet-stream" || !bytes.HasSuffix(a.body, append(floats(1, 2), blob...)) {
			t.Errorf("status %d, %v: %q", a.status, a.header, a.body)
		}
	})
}

// raw sends bytes and reads what comes back as n responses.
func (r *rig) raw(text string, n int) (statuses []int) {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		r.t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for range n {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			r.t.Fatalf("after %v: %v", statuses, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		statuses = append(statuses, resp.StatusCode)
	}
	return statuses
}

func TestConformanceWire(t *testing.T) {
	r := newRig(t, Config{Models: []Model{loaded("pair", pair(t, infer.SimOptions{}))}}, front.Options{})
	post := func(proto, header, body string) string {
		return "POST /v2/models/pair/infer " + proto + "\r\nHost: x\r\n" + header + "\r\n" + body
	}
	sized := fmt.Sprintf("Content-Length: %d\r\n", len(onePair))
	for name, c := range map[string]struct {
		text string
		want []int
	}{
		"C54 chunked":                  {post("HTTP/1.1", "Transfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 20, onePair[:20], len(onePair)-20, onePair[20:])), []int{200}},
		"C55 Expect: 100-continue":     {post("HTTP/1.1", sized+"Expect: 100-continue\r\n", onePair), []int{100, 200}},
		"C56 HTTP/1.0":                 {post("HTTP/1.0", sized, onePair), []int{200}},
		"C56 Connection: close":        {post("HTTP/1.1", sized+"Connection: close\r\n", onePair), []int{200}},
		"C57 pipelined":                {strings.Repeat(post("HTTP/1.1", sized, onePair), 5), []int{200, 200, 200, 200, 200}},
		"C57 pipelined after an error": {post("HTTP/1.1", "Content-Length: 2\r\n", "{}") + post("HTTP/1.1", sized, onePair), []int{400, 200}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.raw(c.text, len(c.want)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
