package host

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"
)

// storedCommand is a command line of a description, taken apart.
type storedCommand struct {
	root bool
	env  []string // sorted
	argv []string // argv[0] without its folder
	Output
}

// newStoredCommand strips `sudo -n`, `env K=V ...` and the folder of the binary.
func newStoredCommand(words []string, out Output) (c storedCommand, ok bool) {
	c.Output = out
	if len(words) > 2 && words[0] == "sudo" && words[1] == "-n" {
		c.root, words = true, words[2:]
	}
	if len(words) > 1 && words[0] == "env" && strings.Contains(words[1], "=") {
		words = words[1:]
		for len(words) > 1 && strings.Contains(words[0], "=") {
			c.env, words = append(c.env, words[0]), words[1:]
		}
	}
	c.env = plainEnv(c.env)
	if len(words) == 0 {
		return c, false
	}
	c.argv = slices.Concat([]string{path.Base(words[0])}, words[1:])
	return c, true
}

// plainEnv is the environment that tells two questions apart: LC_ALL=C is
// always set and so says nothing.
func plainEnv(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return kv == "LC_ALL=C" })
	slices.Sort(env)
	return env
}

// command looks for the argv, asked as the same user. Where it stands more
// than once the one with the same environment counts, and a question with an
// environment of its own matches only a line with env.
func (h *replay) command(q Question) Answer {
	if len(q.Args) == 0 {
		return unknown(errors.New("command: no argv"))
	}
	want, ok := newStoredCommand(q.Args, Output{}) // the question may name sudo and env itself
	if !ok {
		return unknown(errors.New("command: no argv"))
	}
	want.root = want.root || q.Root
	want.env = plainEnv(slices.Concat(want.env, q.Env))
	var hit *storedCommand
	for i, c := range h.commands {
		if c.root != want.root && !h.isRoot() || !slices.Equal(c.argv, want.argv) || (len(c.env) > 0) != (len(want.env) > 0) {
			continue
		}
		if same := slices.Equal(c.env, want.env); hit == nil || same {
			hit = &h.commands[i]
			if same {
				break
			}
		}
	}
	if hit == nil {
		return h.noCommand(q, path.Base(q.Args[0]))
	}
	wall := time.Duration(hit.WallMS) * time.Millisecond
	if wall > q.limit() {
		return unknown(ErrTimeout)
	}
	return Answer{State: Known, Result: Result{[]byte(hit.Stdout), []byte(hit.Stderr), hit.Exit}, Took: wall}
}

// noCommand answers for an argv that is not listed: a tool that is there says
// something to it that nobody knows.
func (h *replay) noCommand(q Question, name string) Answer {
	byName := Question{Kind: Exec, Args: q.Args[:1], Root: q.Root}
	if h.absent[questionLine(byName)] {
		return Answer{State: Absent}
	}
	there := slices.Contains(h.d.Facts.ToolsPresent, name)
	for _, c := range h.commands {
		there = there || c.argv[0] == name
	}
	if path.IsAbs(q.Args[0]) {
		_, there = h.tree.resolve(q.Args[0], true)
	}
	if there {
		return notRecorded(q)
	}
	return h.silence(q)
}
