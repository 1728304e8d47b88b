package fakeacl

import (
	"strings"
	"testing"
)

// TestBehaviour plays what the double does beyond the rows of the real library.
func TestBehaviour(t *testing.T) {
	libs, files := map[string]*Library{}, modelFiles(t)
	for _, profile := range []string{Old, Split} {
		libs[profile] = Build(t, Options{Profile: profile})
	}
	for _, s := range scripts(t, "behaviour.txt") {
		t.Run(s.id+" "+s.name, func(t *testing.T) {
			t.Parallel()
			p := s.play(t, libs[s.id], files)
			if err := s.judge(p); err != nil {
				t.Errorf("behaviour.txt:%d: %v\n%s", s.line, err, strings.Join(p.violations, "\n"))
			}
		})
	}
}
