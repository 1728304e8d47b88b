package host

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// form is how one kind of question is put and how its answer is brought into
// the normal form. The program on the host only collects; shape decides.
type form struct {
	need  string // command that has to be there; "" = sh
	lack  bool   // the host without it is an answer: Absent
	gone  bool   // "No such file" is an answer: Absent
	says  bool   // shape can read a failed run too
	least int    // arguments it needs
	argv  func(q Question) []string
	text  string                    // else: name of a text of forms/, run by sh or python3 with the arguments
	words func(q Question) []string // else: words of a shell
	shape func(q Question, stdout, stderr string) (string, error)
}

// forms/*.sh print raw values; forms/*.py read metadata and import nothing.
//
//go:embed forms
var texts embed.FS

var forms = map[Kind]form{
	File:     {need: "head", gone: true, least: 1, argv: func(q Question) []string { return []string{"head", "-c", "1048577", "--", q.Args[0]} }},
	Glob:     {least: 1, words: func(q Question) []string { return globWords("", []Question{q}) }, shape: alone(splitGlobs)},
	Link:     {gone: true, least: 1, text: "links.sh", shape: alone(splitLinks)},
	Stat:     {need: "stat", says: true, argv: statArgv, shape: alone(splitStat)},
	Exec:     {lack: true, least: 1, argv: execArgv},
	Disk:     {least: 1, text: "disks.sh", shape: alone(splitDisks)},
	Identity: {text: "identity.sh", shape: shapeIdentity},
	Limits:   {argv: func(Question) []string { return []string{"cat", "/proc/self/limits"} }, shape: shapeLimits},
	Tools:    {text: "tools.sh"},
	Env:      {gone: true, argv: envArgv, shape: shapeEnv},
	Nodes:    {text: "nodes.sh", shape: shapeNodes},
	PCI:      {text: "pci.sh", shape: shapePCI},
	Packages: {need: "python3", lack: true, text: "packages.py"},
	Python:   {need: "python3", lack: true, text: "python.py"},
	TorchABI: {need: "python3", lack: true, gone: true, text: "torch_abi.py"},
	Hostname: {text: "hostname.sh", shape: shapeHostname},
	Clock:    {argv: func(Question) []string { return []string{"date", "+%s.%N"} }, shape: shapeClock},
	Boot:     {argv: func(Question) []string { return []string{"grep", "^btime ", "/proc/stat"} }, shape: shapeBoot},
	Ports:    {text: "ports.sh", shape: shapePorts},
	Locks:    {text: "locks.sh"},
	Shells:   {text: "shells.sh"},
	Procs:    {text: "procs.sh", shape: shapeProcs},
	Reach:    {text: "reach.sh", shape: shapeReach},
	Sandbox:  {text: "sandbox.sh", shape: shapeSandbox},
}

// call is one compiled question: the command it needs, and argv as words of a
// shell.
type call struct {
	need  string
	words []string
}

func phrase(q Question) (call, error) {
	f, ok := forms[q.Kind]
	switch {
	case !ok:
		return call{}, fmt.Errorf("no question of kind %q", q.Kind)
	case len(q.Args) < f.least:
		return call{}, fmt.Errorf("a question of kind %s needs an argument", q.Kind)
	case strings.ContainsRune(strings.Join(append(q.Args, q.Env...), ""), 0):
		return call{}, errors.New("a NUL byte cannot be asked for")
	case q.Kind == Exec && q.Args[0] == "":
		return call{}, errors.New("a command needs a name")
	}
	c := call{need: f.need}
	if c.need == "" {
		c.need = "sh"
	}
	switch {
	case f.argv != nil:
		c.words = quoteAll(f.argv(q))
	case f.words != nil:
		c.words = f.words(q)
	case strings.HasSuffix(f.text, ".py"):
		c.words = append([]string{"python3", "-c", formWord(f.text)}, quoteAll(q.Args)...)
	default:
		c.words = append([]string{"sh", "-c", formWord(f.text), "sh"}, quoteAll(q.Args)...)
	}
	switch {
	case q.Kind == Exec:
		c.need = q.Args[0]
	case q.Kind == Env && len(q.Args) == 0:
		c.words[len(c.words)-1] = `"/proc/$asc_P/environ"` // as the login shell was started, before our PATH
	}
	return c, nil
}

// formWord is a text of forms/ as a word of a shell: a variable, so that the
// program holds each text once. formTexts sets those a program uses.
func formWord(name string) string { return `"$` + formVar(name) + `"` }

func formVar(name string) string { return "asc_form_" + strings.TrimSuffix(name, path.Ext(name)) }

func formTexts(program string) string {
	var b strings.Builder
	list, _ := texts.ReadDir("forms") // embedded: neither this nor a read can fail
	for _, f := range list {
		if strings.Contains(program, formWord(f.Name())) {
			text, _ := texts.ReadFile("forms/" + f.Name())
			fmt.Fprintf(&b, "%s=%s\n", formVar(f.Name()), quote(string(text)))
		}
	}
	return b.String()
}

func execArgv(q Question) []string {
	if len(q.Env) == 0 {
		return q.Args
	}
	return append(append([]string{"env"}, q.Env...), q.Args...)
}

func envArgv(q Question) []string {
	pid := "self"
	if len(q.Args) > 0 {
		pid = q.Args[0]
	}
	return []string{"cat", "/proc/" + pid + "/environ"}
}

// statArgv: one stat for all paths; what is missing stands on its stderr.
func statArgv(q Question) []string {
	if len(q.Args) == 0 {
		return []string{"true"}
	}
	return append([]string{"stat", "-c", "%f\t%u\t%g\t%s\t%Y\t%U\t%G\t%n", "--"}, q.Args...)
}

// globWords lists what matches each pattern, with * ? and [...] left to the
// shell and the rest quoted.
func globWords(_ string, qs []Question) []string {
	var b strings.Builder
	words := []string{"sh", "-c", "", "sh"}
	for _, q := range qs {
		dir := quote(globDir(q))
		fmt.Fprintf(&b, "c %s\nfor f in %s; do g; done; echo\n", dir, globPattern(q.Args[0]))
		if !slices.Contains(words[4:], dir) {
			words = append(words, dir)
		}
	}
	words[2] = formWord("globs.sh") + quote(b.String())
	return words
}

// globDir is the part of a pattern before the first wildcard.
func globDir(q Question) string {
	plain := q.Args[0]
	if i := strings.IndexAny(plain, "*?["); i >= 0 {
		plain = plain[:i]
	}
	if i := strings.LastIndexByte(plain, '/'); i >= 0 {
		return plain[:i+1]
	}
	return "."
}

func globPattern(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '?':
			b.WriteByte(c)
		case '[':
			if n := class(pattern[i:]); n > 0 {
				b.WriteString(pattern[i : i+n])
				i += n - 1
				continue
			}
			fallthrough
		default:
			b.WriteString(quote(string([]byte{c})))
		}
	}
	return b.String()
}

// class gives the length of a bracket expression of plain letters, digits and
// ranges at the start of s, 0 for anything else: it goes to a shell unquoted.
func class(s string) int {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == ']' && i > 1:
			return i + 1
		case c == '!' && i == 1, c == '-', c == '.', c == '_', c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		default:
			return 0
		}
	}
	return 0
}

// word makes a value one field of a blank-separated line.
func word(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }), "_")
}

// lines gives the lines of a raw answer without their ends, CRLF included.
func lines(s string) []string {
	out := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i := range out {
		out[i] = strings.TrimSuffix(out[i], "\r")
	}
	if len(out) == 1 && out[0] == "" {
		return nil
	}
	return out
}
