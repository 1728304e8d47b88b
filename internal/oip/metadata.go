package oip

import (
	"fmt"
	"slices"
)

// Metadata is the answer to GET v2/models/NAME (source: inference_rest.md,
// "Model Metadata"; parameters is an addition that clients may ignore).
type Metadata struct {
	Name       string         `json:"name"`
	Versions   []string       `json:"versions,omitempty"`
	Platform   string         `json:"platform"`
	Inputs     []PortMetadata `json:"inputs"`
	Outputs    []PortMetadata `json:"outputs"`
	Parameters map[string]any `json:"parameters,omitempty"`
}

// PortMetadata is an input or output in Metadata; dims of -1 are variable.
type PortMetadata struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// Metadata describes a model of that signature. A port whose type has no
// datatype in the protocol shows its ONNX word, so that people see why no
// request for it succeeds.
func (s Signature) Metadata(name, platform string, versions ...string) Metadata {
	return Metadata{Name: name, Versions: versions, Platform: platform,
		Inputs: portMetadata(s.Inputs), Outputs: portMetadata(s.Outputs)}
}

func portMetadata(ports []Port) []PortMetadata {
	list := make([]PortMetadata, 0, len(ports))
	for _, p := range ports {
		word, ok := Datatype(p.DType)
		if !ok {
			word = p.DType.ONNX()
		}
		shape := append([]int64{}, p.Dims...) // [] in JSON, not null, for a scalar
		list = append(list, PortMetadata{p.Name, word, shape})
	}
	return list
}

// Signature reads a server's metadata back, for clients; the names of dims are
// not in it. An unknown datatype or a name that stands twice is an *Error with
// status 502.
func (m Metadata) Signature() (Signature, error) {
	inputs, err := ports("input", m.Inputs)
	if err != nil {
		return Signature{}, err
	}
	outputs, err := ports("output", m.Outputs)
	if err != nil {
		return Signature{}, err
	}
	return Signature{inputs, outputs}, nil
}

func ports(role string, list []PortMetadata) ([]Port, error) {
	var all []Port
	for _, p := range list {
		d, ok := ParseDatatype(p.Datatype)
		if !ok {
			return nil, tensorError(badGateway, codeDatatype, role, p.Name, "expected a datatype like FP32, got "+quoted(p.Datatype))
		}
		if find(all, []byte(p.Name)) >= 0 {
			return nil, tensorError(badGateway, codeName, role, p.Name, fmt.Sprintf("stands twice in %ss", role))
		}
		all = append(all, Port{Name: p.Name, DType: d, Dims: slices.Clone(p.Shape), DimNames: make([]string, len(p.Shape))})
	}
	return all, nil
}
