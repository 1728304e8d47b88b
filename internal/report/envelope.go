package report

import "time"

// Envelope heads every document of machine output. Keys are only ever added
// within a version of its schema.
type Envelope struct {
	Schema     string    `json:"schema" yaml:"schema"` // "ascendctl.inspect/v1"
	Tool       Tool      `json:"tool" yaml:"tool"`
	Started    time.Time `json:"started" yaml:"started"` // RFC 3339
	DurationMS int64     `json:"duration_ms" yaml:"duration_ms"`
}

// Tool names the binary that spoke.
type Tool struct {
	Name    string `json:"name" yaml:"name"`
	Version string `json:"version" yaml:"version"`
	Commit  string `json:"commit,omitempty" yaml:"commit,omitempty"`
}
