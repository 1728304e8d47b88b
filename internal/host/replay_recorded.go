package host

import (
	"maps"
	"slices"
)

// Recorded is a command line of a description, taken apart as Replay matches
// it: whom it was asked as, the variables set for it, and argv with the folder
// of the binary stripped.
type Recorded struct {
	Root bool
	Env  []string // KEY=VALUE, sorted
	Argv []string
	Output
}

// Recorded gives the command lines of d, sorted by their text.
func (d *Description) Recorded() (out []Recorded) {
	for _, line := range slices.Sorted(maps.Keys(d.Commands)) {
		words, ok := shellWords(line)
		if c, whole := newStoredCommand(words, d.Commands[line]); ok && whole {
			out = append(out, Recorded{c.root, c.env, c.argv, c.Output})
		}
	}
	return out
}
