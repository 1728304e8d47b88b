package facts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/host"
)

// Options says how far to look. Every path, name and table a look needs and
// that is not the same on every host is handed in here.
type Options struct {
	Chips     []Chip           // what PCI ids mean; section pci of compat/soc.yaml
	Boards    []Board          // what device trees mean; section boards of the same file
	Now       func() time.Time // our clock; nil: the clock of the host is not compared
	Probes    []string         // names of probes; empty: all
	PID       int              // also the environment of this process
	Serving   bool             // also how cards are connected
	MultiNode bool             // also what only matters between hosts
	Deep      bool             // also what takes long: clocks, ecc of healthy chips, importing torch
	Reach     []string         // HTTPS hosts to try
	Disks     []string         // paths whose file systems matter besides the usual ones
	Roots     []string         // folders that may hold CANN besides the usual ones
	Paths     []string         // paths of which Facts.Paths must tell, besides those a container usually gets
	RankTable string           // path of the rank table of the job; "" = none
	Peers     []string         // NPU addresses of other hosts to try from here
}

// Chip is what a PCI id means.
type Chip struct {
	ID         string `yaml:"id"` // "19e5:d802", vendor and device
	Generation string `yaml:"generation"`
	Source     string `yaml:"source"`
}

// Board is what a word of /proc/device-tree/compatible means.
type Board struct {
	ID         string `yaml:"id"` // "hisilicon,ascend310b": a prefix
	Generation string `yaml:"generation"`
	Source     string `yaml:"source"`
}

// query is one question and what to make of the answer.
type query struct {
	host.Question
	take func(host.Answer)
}

// probe is something to look at. first is asked at once; then, which may be
// nil, is asked when the first answers are known and goes into the second round
// trip. There is no third.
type probe struct {
	name  string
	first func(*look) []query
	then  func(*look) []query
}

// look is one look at one host.
type look struct {
	Facts
	Options
	tree   *cann.Listing   // CANN files
	mounts []string        // local file systems
	hung   bool            // npu-smi gave no answer in time: not asked again
	procs  map[int]Process // by pid, what /proc says
}

// Collect looks at h in at most two round trips. It never fails: what could
// not be asked is an unknown fact that says why.
func Collect(ctx context.Context, h host.Host, o Options) Facts {
	l := &look{Options: o, procs: map[int]Process{}}
	l.Target = h.String()
	l.round(ctx, h, func(p probe) []query { return p.first(l) })
	l.round(ctx, h, func(p probe) []query {
		if p.then == nil {
			return nil
		}
		return p.then(l)
	})
	for _, conclude := range conclusions {
		conclude(l)
	}
	return l.Facts
}

// Probes are the names that Options.Probes knows, in the order of asking.
func Probes() []string {
	names := make([]string, len(probes))
	for i, p := range probes {
		names[i] = p.name
	}
	return names
}

func (l *look) round(ctx context.Context, h host.Host, ask func(probe) []query) {
	var qs []query
	for _, p := range probes {
		if len(l.Options.Probes) == 0 || slices.Contains(l.Options.Probes, p.name) {
			qs = append(qs, ask(p)...)
		}
	}
	put(ctx, h, qs)
}

// put asks all in one round trip and lets each question take its answer.
func put(ctx context.Context, h host.Host, qs []query) {
	if len(qs) == 0 {
		return
	}
	questions := make([]host.Question, len(qs))
	for i, q := range qs {
		questions[i] = q.Question
	}
	answers := h.Ask(ctx, questions)
	for i, q := range qs {
		a := host.Answer{State: host.Unknown, Err: errNoAnswer}
		if i < len(answers) {
			a = answers[i]
		}
		q.take(a)
	}
}

var errNoAnswer = errors.New("the host gave fewer answers than questions")

// The questions, short.

func file(name string) host.Question   { return host.Question{Kind: host.File, Args: []string{name}} }
func glob(name string) host.Question   { return host.Question{Kind: host.Glob, Args: []string{name}} }
func linkTo(name string) host.Question { return host.Question{Kind: host.Link, Args: []string{name}} }
func stat(names ...string) host.Question {
	return host.Question{Kind: host.Stat, Args: names}
}
func run(argv ...string) host.Question { return host.Question{Kind: host.Exec, Args: argv} }
func typed(k host.Kind, args ...string) host.Question {
	return host.Question{Kind: k, Args: args}
}

// asRoot and within change a question.
func asRoot(q host.Question) host.Question { q.Root = true; return q }
func within(d time.Duration, q host.Question) host.Question {
	q.Timeout = d
	return q
}

// source names where an answer comes from, as evidence shows it.
func source(q host.Question) string {
	words := strings.Join(q.Args, " ")
	switch q.Kind {
	case host.File, host.Link, host.Stat, host.Glob:
		return words
	case host.Exec:
		if q.Root {
			return "# " + words
		}
		return "$ " + words
	}
	return strings.TrimSpace(string(q.Kind) + " " + words)
}

// into asks q and keeps what parse makes of the answer in f. A command that
// exits with another status than 0 gave no value.
func into[T any](f *Fact[T], q host.Question, parse func(string) (T, error)) query {
	return query{q, func(a host.Answer) { *f = fact(a, q, parse) }}
}

// orInto is into for a second way to the same fact: it only counts when it
// answers and the ways before did not.
func orInto[T any](f *Fact[T], q host.Question, parse func(string) (T, error)) query {
	return query{q, func(a host.Answer) {
		got := fact(a, q, parse)
		switch {
		case f.Known():
		case got.Known(), f.State == "", f.Absent() && !got.Absent():
			*f = got
		}
	}}
}

// fact turns one answer into one fact; parse sees known text only.
func fact[T any](a host.Answer, q host.Question, parse func(string) (T, error)) Fact[T] {
	f := Fact[T]{State: a.State, Source: source(q)}
	switch {
	case a.State == host.Absent && q.Kind == host.Exec: // no tool to ask with is not "there is none"
		f.State, f.Note = host.Unknown, "no command "+q.Args[0]
	case a.State == host.Absent:
	case a.State == host.Known && none(a, q): // looked for, nothing matched
		f.State = host.Absent
	case a.State != host.Known:
		f.State, f.Note = host.Unknown, reason(a)
	case a.Exit != 0:
		f.State, f.Note = host.Unknown, failure(a)
	default:
		v, err := parse(clean(a.Stdout))
		if err != nil {
			f.State, f.Note = host.Unknown, err.Error()
		} else {
			f.Value = v
		}
	}
	return f
}

// intoTool is into for a command that is itself what is looked for.
func intoTool[T any](f *Fact[T], q host.Question, parse func(string) (T, error)) query {
	return query{q, func(a host.Answer) {
		if *f = fact(a, q, parse); a.State == host.Absent {
			f.State, f.Note = host.Absent, ""
		}
	}}
}

// none is true for a listing that names nothing.
func none(a host.Answer, q host.Question) bool {
	return (q.Kind == host.Stat || q.Kind == host.Glob) && len(bytes.TrimSpace(a.Stdout)) == 0
}

// orNothing reads a listing that names nothing as a known empty one.
func orNothing[T any](f *Fact[T], q host.Question, parse func(string) (T, error)) query {
	return query{q, func(a host.Answer) {
		if *f = fact(a, q, parse); f.Absent() {
			f.Value, _ = parse("")
			f.State = host.Known
		}
	}}
}

func reason(a host.Answer) string {
	if a.Err != nil {
		return a.Err.Error()
	}
	return "no answer"
}

// failure is the exit status and the last line a command said.
func failure(a host.Answer) string {
	said := clean(a.Stderr)
	if strings.TrimSpace(said) == "" {
		said = clean(a.Stdout)
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.TrimSuffix(fmt.Sprintf("exit %d: %s", a.Exit, quoted(lines[len(lines)-1])), ": ")
}

// clean makes text of what a host said: no CR before LF, valid UTF-8.
func clean(b []byte) string {
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// quoted cuts a text to what fits into a note.
func quoted(s string) string {
	const most = 160
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(s))
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// odd is a text that is not what was asked for.
func odd(want, got string) error { return fmt.Errorf("want %s, got %q", want, quoted(got)) }
