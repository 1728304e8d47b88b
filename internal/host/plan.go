package host

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// step is one section of the stream: a question, or some that are put as one.
type step struct {
	n     int   // of the question; after all questions when it is a joint one
	of    []int // the questions
	kind  Kind  // that leads a joint one
	salt  string
	words []string // of a joint one
}

// group is what is put together: by one process under one time limit when it
// is quick, one after the other when not; by one sudo when it is for root.
// A quick question that hangs there, and those after it, are put again alone.
type group struct {
	root, quick bool
	seconds     int
	steps       []step
}

// Bounds of what goes through one argument of a command (128 KiB on Linux).
const (
	mostJoint = 16 << 10 // bytes of the words of joint questions
	mostGroup = 48 << 10 // bytes of the text of a group
)

// quick kinds answer at once unless something is broken, never without bound,
// and do not depend on the order of commands.
var quick = []Kind{File, Stat, Glob, Link, Disk, Identity, Limits, Tools, Env, Nodes, PCI, Boot, Ports, Locks, Shells, Sandbox, Packages, Python, TorchABI, Clock}

// quickCommands do not wait for hardware or other hosts either.
var quickCommands = []string{"uname", "getconf", "lscpu"}

func (q Question) quick() bool {
	return slices.Contains(quick, q.Kind) || q.Kind == Exec && len(q.Env) == 0 && slices.Contains(quickCommands, q.Args[0])
}

// plan groups the questions. Quick ones come where the first of them stands;
// all others keep their order.
func plan(nonce string, qs []Question) []group {
	type key struct {
		root    bool
		seconds int
	}
	type draft struct {
		group
		of []int
	}
	var drafts []*draft
	open := map[key]*draft{}
	for i, q := range qs {
		if _, err := phrase(q); err != nil {
			continue // parse says so: the question has no section
		}
		k := key{q.Root, seconds(q.limit())}
		var d *draft
		switch last := len(drafts) - 1; {
		case q.quick() && open[k] != nil:
			d = open[k]
		case !q.quick() && last >= 0 && !drafts[last].quick && drafts[last].root == q.Root:
			d = drafts[last]
		default:
			d = &draft{group: group{root: q.Root, quick: q.quick(), seconds: k.seconds}}
			drafts = append(drafts, d)
			if d.quick {
				open[k] = d
			}
		}
		d.of = append(d.of, i)
	}
	next := len(qs)
	var out []group
	for _, d := range drafts {
		d.steps = singles(d.of)
		if d.quick {
			d.steps = join(salted(nonce), qs, d.of, &next)
		}
		out = append(out, d.group)
	}
	return out
}

func singles(of []int) (out []step) {
	for _, i := range of {
		out = append(out, step{n: i, of: []int{i}})
	}
	return out
}

// join makes joint steps of questions that can be joined.
func join(salt string, qs []Question, of []int, next *int) (out []step) {
	at := map[Kind]int{} // where the open step of a kind stands
	size := map[Kind]int{}
	for _, i := range of {
		kind, ok := jointOf(qs[i])
		room := len(salt) + len(strings.Join(qs[i].Args, "    "))
		if n, started := at[kind]; ok && started && size[kind]+room < mostJoint {
			out[n].of = append(out[n].of, i)
			size[kind] += room
			continue
		}
		s := step{n: i, of: []int{i}}
		if ok {
			s.kind, s.salt, at[kind], size[kind] = kind, salt, len(out), room
		}
		out = append(out, s)
	}
	for i := range out {
		s := &out[i]
		if len(s.of) == 1 || s.kind == File && len(union(s.questions(qs)).Args) == 1 { // head names only one of many
			out[i] = step{n: s.of[0], of: s.of[:1]}
			out = append(out, singles(s.of[1:])...)
			continue
		}
		s.n = *next
		s.words = joints[s.kind].words(salt, s.questions(qs))
		*next++
	}
	return out
}

func (s step) questions(qs []Question) []Question {
	out := make([]Question, len(s.of))
	for k, i := range s.of {
		out[k] = qs[i]
	}
	return out
}

// verdicts judges a section: one answer for each question of the step, or none
// when its questions were put again.
func (s step) verdicts(qs []Question, word string, stdout, stderr []byte) []Answer {
	if s.kind == "" {
		return []Answer{verdict(qs[s.n], word, stdout, stderr)}
	}
	of := s.questions(qs)
	var out []Answer
	code, _, _ := strings.Cut(word, " ")
	switch exit, err := strconv.Atoi(code); {
	case word == "absent" || word == "noroot":
		for _, q := range of {
			out = append(out, verdict(q, word, nil, stderr))
		}
	case err != nil || exit >= 124: // as asc_j sees it
	default:
		for k, p := range joints[s.kind].split(s.salt, of, string(stdout), string(stderr)) {
			a := forms[of[k].Kind].settle(of[k], Answer{}, p)
			if len(a.Stdout) > maxAnswer {
				a = Answer{State: Unknown, Result: Result{Stdout: a.Stdout[:maxAnswer]}, Err: ErrTooLarge}
			}
			out = append(out, a)
		}
	}
	return out
}

// text puts the group into words of the program.
func (g group) text(qs []Question) string {
	var parts []string
	last, numbers := "", ""
	for _, s := range g.steps {
		text := s.text(qs)
		if len(last)+len(text) > mostGroup && last != "" {
			parts, last = append(parts, last), ""
		}
		last += text
		for _, i := range s.of {
			numbers += fmt.Sprintf(" %d", i)
		}
	}
	var b strings.Builder
	for _, p := range append(parts, last) {
		p = formTexts(p) + p
		if g.quick && (len(g.steps) > 1 || g.steps[0].kind != "") {
			p = fmt.Sprintf("asc_S=%s\nasc_many %d %d\neval \"$asc_S\"\n", quote(p), g.seconds, len(qs)*(maxAnswer+maxStderr))
		}
		b.WriteString(p)
	}
	if g.root {
		return fmt.Sprintf("asc_S=%s\nasc_root '%s'\n", quote(b.String()), numbers)
	}
	return b.String()
}

func (s step) text(qs []Question) string {
	if s.kind == "" {
		c, err := phrase(qs[s.n])
		if err != nil {
			return "" // not reached: plan leaves it out
		}
		return fmt.Sprintf("asc_q %d %s %d %s\n", s.n, quote(c.need), seconds(qs[s.n].limit()), strings.Join(c.words, " "))
	}
	need := cmp.Or(forms[s.kind].need, "sh")
	var b strings.Builder
	fmt.Fprintf(&b, "asc_j %d %s %d %s || {\n", s.n, need, seconds(qs[s.of[0]].limit()), strings.Join(s.words, " "))
	for _, i := range s.of {
		b.WriteString(step{n: i, of: []int{i}}.text(qs))
	}
	b.WriteString("}\n")
	return b.String()
}
