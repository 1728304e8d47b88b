package serve

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ascendctl/ascendctl/internal/front"
)

// extensions of the protocol that are served (source: triton protocol/README.md).
var extensions = []string{"binary_tensor_data", "statistics"}

const read = "GET, HEAD"

// HealthPaths are the addresses that must answer also under full load and
// while draining: hand them to front.Options.Exempt.
func HealthPaths() []string { return []string{"/v2/health/live", "/v2/health/ready"} }

// Handler serves the protocol under /v2. Content-Type of a request is not
// looked at: what a body is stands in its header Inference-Header-Content-Length,
// and the commonest client, curl -d, calls JSON a form.
func (s *Service) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/v2")
	if ok && rest != "" {
		if model, under := strings.CutPrefix(rest, "/models/"); under {
			s.serveModel(w, r, model)
			return
		}
	}
	class, get := "", http.HandlerFunc(nil)
	switch {
	case !ok:
	case rest == "" || rest == "/":
		class, get = "server", s.server
	case rest == "/health/live":
		class, get = "health", s.liveness
	case rest == "/health/ready":
		class, get = "health", s.readiness
	}
	if get == nil {
		front.Fail(w, http.StatusNotFound, "route", "no such address: "+r.URL.Path)
		return
	}
	front.Class(r, class)
	if allowed(w, r, read) {
		get(w, r)
	}
}

// serveModel serves what stands after v2/models/.
func (s *Service) serveModel(w http.ResponseWriter, r *http.Request, path string) {
	m, tail := s.find(path)
	if m == nil {
		if path == "stats" {
			front.Class(r, "stats")
			if allowed(w, r, read) {
				s.stats(w, r, s.models...)
			}
			return
		}
		front.Fail(w, http.StatusNotFound, "model", "no such model: "+s.unknown(path))
		return
	}
	act := tail
	if versioned, ok := strings.CutPrefix(tail, "versions/"); ok {
		var v string
		if v, act, _ = strings.Cut(versioned, "/"); v != version {
			front.Fail(w, http.StatusNotFound, "version", "model "+m.Name+" has version "+version+" only, not "+v)
			return
		}
	}
	switch act {
	case "infer":
		front.Class(r, "infer")
		if allowed(w, r, http.MethodPost) {
			s.infer(w, r, m)
		}
	case "":
		front.Class(r, "metadata")
		if allowed(w, r, read) {
			s.metadata(w, r, m)
		}
	case "ready":
		front.Class(r, "health")
		if allowed(w, r, read) {
			s.modelReadiness(w, r, m)
		}
	case "stats":
		front.Class(r, "stats")
		if allowed(w, r, read) {
			s.stats(w, r, m)
		}
	default:
		front.Fail(w, http.StatusNotFound, "route", "no such address: "+r.URL.Path)
	}
}

// find gives the model with the longest name that path begins with, and the
// rest behind it. Names may hold slashes, also written as %2F.
func (s *Service) find(path string) (found *model, tail string) {
	for _, m := range s.models {
		rest, ok := strings.CutPrefix(path, m.Name)
		if !ok || rest != "" && rest[0] != '/' || found != nil && len(found.Name) > len(m.Name) {
			continue
		}
		found, tail = m, strings.TrimPrefix(rest, "/")
	}
	return found, tail
}

// unknown names the model that was meant and those there are.
func (s *Service) unknown(path string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(path, "/infer"), "/ready"), "/stats")
	name, _, _ = strings.Cut(name, "/versions/")
	const most = 8
	there := ""
	for i, m := range s.models {
		if i == most {
			there += ", ..."
			break
		}
		if i > 0 {
			there += ", "
		}
		there += m.Name
	}
	return name + " (there is: " + there + ")"
}

// allowed answers 405 to a verb that is not in allow.
func allowed(w http.ResponseWriter, r *http.Request, allow string) bool {
	for verb := range strings.SplitSeq(allow, ", ") {
		if r.Method == verb {
			return true
		}
	}
	w.Header().Set("Allow", allow)
	front.Fail(w, http.StatusMethodNotAllowed, "method", r.Method+" is not for this address: "+allow)
	return false
}

// write answers JSON.
func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		front.FailErr(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

func (s *Service) server(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Extensions []string `json:"extensions"`
	}{"ascendctl", s.cfg.Version, extensions})
}

// health is the body of the health addresses: the specification, its OpenAPI
// file and KServe each want another of its fields.
type health struct {
	Name  string `json:"name,omitempty"`
	Ready *bool  `json:"ready,omitempty"`
	Live  *bool  `json:"live,omitempty"`
	Error string `json:"error,omitempty"`
}

func (s *Service) liveness(w http.ResponseWriter, _ *http.Request) {
	live := true
	write(w, http.StatusOK, health{Live: &live})
}

func (s *Service) readiness(w http.ResponseWriter, r *http.Request) {
	live := true
	err := s.Ready()
	if err == nil && front.Draining(r) {
		err = errDraining
	}
	writeReady(w, health{Live: &live}, err)
}

func (s *Service) modelReadiness(w http.ResponseWriter, _ *http.Request, m *model) {
	writeReady(w, health{Name: m.Name}, s.ready(m))
}

func writeReady(w http.ResponseWriter, h health, err error) {
	ready, status := err == nil, http.StatusOK
	h.Ready = &ready
	if err != nil {
		h.Error, status = err.Error(), http.StatusServiceUnavailable
		w.Header().Set("X-Ascendctl-Error", "not_ready")
	}
	write(w, status, h)
}

// metadata is GET v2/models/NAME. parameters says what the model runs on, in
// words a client can show, and whether requests share batches.
func (s *Service) metadata(w http.ResponseWriter, _ *http.Request, m *model) {
	l := m.live.Load()
	if l == nil {
		unavailable(w, errLoading)
		return
	}
	meta := l.info.Signature.Metadata(m.Name, l.info.Platform, version)
	meta.Parameters = s.parameters(m, l)
	mark(w, l)
	write(w, http.StatusOK, meta)
}

func (s *Service) parameters(m *model, l *live) map[string]any {
	d, b := l.info.Device, m.seen.shares()
	p := map[string]any{
		"device_kind": d.Kind, "device": d.Name, "simulated": d.Simulated,
		"max_batch": b.MaxRows, "lanes": l.info.Lanes,
	}
	if !b.On {
		p["no_batching_because"] = b.Why.En
	}
	if d, ok := l.backend.(devices); ok {
		p["devices"] = d.Devices()
	}
	return p
}

// mark puts on every answer of a simulated device that it is one.
func mark(w http.ResponseWriter, l *live) {
	if l.info.Device.Simulated {
		w.Header()["X-Ascendctl-Simulated"] = simulated
	}
}

var simulated = []string{"true"}

func (s *Service) stats(w http.ResponseWriter, _ *http.Request, models ...*model) {
	all := struct {
		ModelStats []modelStats `json:"model_stats"`
	}{[]modelStats{}}
	for _, m := range models {
		l := m.live.Load()
		if l == nil {
			continue
		}
		st := m.seen.snapshot()
		st.Name, st.Version, st.Parameters = m.Name, version, s.parameters(m, l)
		all.ModelStats = append(all.ModelStats, st)
		mark(w, l)
	}
	write(w, http.StatusOK, all)
}
