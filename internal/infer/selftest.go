package infer

// Observation is what a real library did where something is expected of it. Got
// is a code of ACL, or a word; the list of what is expected is data
// (compat/self-test.yaml).
type Observation struct {
	ID  string `json:"id"`
	Got string `json:"got"`
}
