package fakeacl

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestMisuseIsNoted plays the mutation list: what each program does wrong is
// noted, and nothing else; programs that do nothing wrong leave no note.
func TestMisuseIsNoted(t *testing.T) {
	lib, files := Build(t, Options{Profile: Split}), modelFiles(t)
	list := scripts(t, "misuse.txt")
	controls := 0
	for _, s := range list {
		if s.id == "none" {
			controls++
		}
		t.Run(s.id+" "+s.name, func(t *testing.T) {
			t.Parallel()
			p := s.play(t, lib, files)
			if err := s.judge(p); err != nil {
				t.Errorf("misuse.txt:%d: %v", s.line, err)
			}
			got := map[string]bool{}
			for _, e := range p.events {
				if e.Event == "violation" {
					got[e.Name] = true
				}
			}
			names := slices.Sorted(maps.Keys(got))
			want := slices.Sorted(slices.Values(strings.Split(strings.TrimPrefix(s.id, "none"), "+")))
			if want[0] == "" {
				want = nil
			}
			if !slices.Equal(names, want) {
				t.Errorf("misuse.txt:%d: noted %v, want %v\n%s", s.line, names, want, strings.Join(p.violations, "\n"))
			}
		})
	}
	if misuses := len(list) - controls; misuses < 40 || controls < 3 {
		t.Errorf("%d misuses and %d controls", misuses, controls)
	}
}
