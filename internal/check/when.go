package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// tri is a truth that may be open. The zero value is open: what nobody looked
// at is not false.
type tri int8

const (
	open tri = iota
	no
	yes
)

func truth(b bool) tri {
	if b {
		return yes
	}
	return no
}

func (t tri) text() report.Text { return [...]report.Text{notKnown(), raw("false"), raw("true")}[t] }

// clause is one key of a condition: what was found, and which checks leave it
// open.
type clause struct {
	key   string
	seen  report.Text
	state tri
	blame []string
}

// applies decides a condition: no wins over open, because one false key is
// enough. The clause that decided comes with it.
func (l *look) applies(w When) (tri, clause) {
	var undecided clause
	for _, c := range l.clauses(w) {
		switch c.state {
		case no:
			return no, c
		case open:
			if undecided.key == "" {
				undecided = c
			}
		}
	}
	if undecided.key != "" {
		return open, undecided
	}
	return yes, clause{}
}

func (l *look) clauses(w When) (out []clause) {
	out = append(out, l.targetClauses(w)...)
	out = append(out, l.hostClauses(w)...)
	for _, h := range w.Has {
		out = append(out, l.has(h))
	}
	if len(w.Lacks) > 0 {
		c := clause{key: "lacks: modules", seen: notKnown()}
		if !unread(l.Modules) {
			c.seen, c.state = orNone(strings.Join(l.loaded(), " ")), truth(len(l.loaded()) == 0)
		}
		out = append(out, c)
	}
	for _, k := range w.Known {
		out = append(out, l.knownClause(k))
	}
	if len(w.Failed) > 0 {
		out = append(out, clause{key: "failed: " + strings.Join(w.Failed, " "), seen: report.T("none failed", "其中没有未通过项"),
			state: truth(slices.ContainsFunc(w.Failed, l.failed))})
	}
	if len(w.AnyOf) > 0 {
		out = append(out, l.anyOf(w.AnyOf))
	}
	return out
}

// targetClauses are decided by what the person wants.
func (l *look) targetClauses(w When) (out []clause) {
	one := func(key, got string, words []string) {
		if len(words) > 0 {
			out = append(out, clause{key: key + ": " + strings.Join(words, " "), seen: orNone(got), state: truth(slices.Contains(words, got))})
		}
	}
	some := func(key string, got, words []string) {
		if len(words) > 0 {
			out = append(out, clause{key: key + ": " + strings.Join(words, " "), seen: orNone(strings.Join(got, " ")), state: truth(overlap(got, words))})
		}
	}
	flag := func(key string, got bool, want *bool) {
		if want != nil {
			out = append(out, clause{key: fmt.Sprintf("%s: %t", key, *want), seen: raw(fmt.Sprint(got)), state: truth(got == *want)})
		}
	}
	one("task", l.job.task(), w.Task)
	some("installs", l.job.Installs, w.Installs)
	one("engine", l.job.Engine, w.Engine)
	some("uses", l.job.Uses, w.Uses)
	flag("multi_node", l.job.multiNode(), w.MultiNode)
	flag("online", l.job.Online, w.Online)
	flag("deep", l.job.Deep, w.Deep)
	return out
}

// hostClauses are decided by what the host is.
func (l *look) hostClauses(w When) (out []clause) {
	flag := func(key string, is func() tri, want *bool, blame ...string) {
		if want == nil {
			return
		}
		got := is()
		c := clause{key: fmt.Sprintf("%s: %t", key, *want), seen: got.text(), state: got, blame: blame}
		if got != open {
			c.state = truth((got == yes) == *want)
		}
		out = append(out, c)
	}
	flag("container", func() tri { c, _ := l.virt(); return c }, w.Container, "os.virt")
	flag("vm", func() tri { _, vm := l.virt(); return vm }, w.VM, "os.virt")
	flag("soc", l.soc, w.SoC)
	flag("vnpu", l.virtual, w.VNPU, "dev.vnpu")
	if w.Root != nil && *w.Root {
		out = append(out, clause{key: "root: true", seen: report.T("neither root nor sudo", "既非 root，也不能使用 sudo"), state: l.rights()})
	}
	if len(w.Chip) > 0 {
		c := clause{key: "chip: " + strings.Join(w.Chip, " "), seen: orNone(l.chip())}
		if l.chip() != "" {
			c.state = truth(slices.Contains(w.Chip, l.chip()))
		}
		out = append(out, c)
	}
	if w.MinCards > 0 {
		c := clause{key: fmt.Sprintf("min_cards: %d", w.MinCards), seen: raw(fmt.Sprint(l.cards()))}
		if l.cards() > 0 {
			c.state = truth(l.cards() >= w.MinCards)
		}
		out = append(out, c)
	}
	for _, p := range w.Packages {
		c := clause{key: "packages: " + p, seen: report.T("not installed", "未安装")}
		if !unread(l.Packages) {
			_, there := l.Packages.Value[p]
			c.state = truth(there)
		}
		out = append(out, c)
	}
	return out
}

// rights is open for a login that may not elevate, which what was asked as root
// then says. Where nothing was asked, the judge will find nothing known.
func (l *look) rights() tri {
	if l.Identity.Known() && l.Identity.Value.UID == 0 {
		return yes
	}
	notes := []string{l.NPUBoardRoot.Note, l.NPUInfoRoot.Note, l.KernelLog.Note, l.HCCNConf.Note}
	for _, h := range l.HCCN.Value {
		notes = append(notes, h.Link.Note, h.IP.Note)
	}
	if slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, host.ErrNoRoot.Error()) }) {
		return open
	}
	return yes
}

// has is true when the check that owns the word passed; CANN that is half there
// (a runtime without a toolkit, an nnal of another version) counts.
func (l *look) has(word string) clause {
	id := owns[word]
	c := clause{key: "has: " + word, seen: report.T("no", "否"), state: no, blame: []string{id}}
	switch f := l.done[id]; {
	case f == nil || f.Status == report.Unknown:
		c.state, c.seen = open, notKnown()
	case f.Status == report.Pass, f.Status == report.Warn && (word == "cann" || word == "nnal"):
		c.state = yes
	}
	return c
}

// virtual is the verdict of dev.vnpu as a truth. A host without any node has
// no vNPU to speak of.
func (l *look) virtual() tri {
	switch f := l.done["dev.vnpu"]; {
	case f == nil || f.Status == report.Unknown && unread(l.Nodes):
		return open
	default:
		return truth(f.Status == report.Warn)
	}
}

// knownClause stays open where the host could not be asked for the value.
func (l *look) knownClause(what string) clause {
	c := clause{key: "known: " + what, seen: notKnown(), state: truth(l.known(what))}
	switch {
	case c.state == yes:
	case what == "cann" && unread(l.CANN):
		c.state, c.blame = open, []string{"cann.installed"}
	case what == "product" && l.job.Product == "" && unread(l.Product):
		c.state = open
	}
	return c
}

func (l *look) known(what string) bool {
	switch what {
	case "target_cann":
		return l.job.CANN != ""
	case "cann":
		return l.cannVersion() != ""
	case "product":
		_, _, ok := l.product()
		return ok
	case "engine_version":
		return l.job.Version != "" && matrixName(l.job.Engine) != ""
	case "model_size":
		return l.job.ModelGiB > 0
	}
	return false
}

// anyOf holds when one of its maps does.
func (l *look) anyOf(ws []When) clause {
	out := clause{key: "any_of", state: no}
	var seen []report.Text
	for _, w := range ws {
		t, c := l.applies(w)
		switch {
		case t == yes:
			return clause{key: "any_of", state: yes}
		case t == open:
			out.state = open
			out.blame = append(out.blame, c.blame...)
		}
		seen = append(seen, report.T("%s is %s", "%s 为 %s", c.key, c.seen))
	}
	out.seen = joined(seen, "; ", "；")
	return out
}
