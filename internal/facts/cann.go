package facts

import (
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/host"
)

// cannPaths shows every CANN whose place can be guessed; what lies there is
// read in the second round.
func (l *look) cannPaths() (qs []query) {
	l.tree = cann.NewListing()
	l.CANN = Fact[cann.Installed]{State: host.Absent, Source: strings.Join(append(slices.Clone(cann.Roots), l.Roots...), ", ")}
	for _, root := range append(slices.Clone(cann.Roots), l.Roots...) {
		for _, pattern := range cann.Patterns(root) {
			qs = append(qs, l.cannGlob(pattern))
		}
	}
	return qs
}

func (l *look) cannGlob(pattern string) query {
	return query{glob(pattern), func(a host.Answer) {
		switch {
		case a.State == host.Unknown && closedHome(pattern, reason(a)):
		case a.State == host.Unknown:
			l.CANN.State, l.CANN.Note = host.Unknown, pattern+": "+reason(a)
		case len(l.tree.Paths()) < mostPaths:
			l.tree.Add(pattern, lines(clean(a.Stdout)))
		}
	}}
}

// closedHome is true for a place in the home of root that this login may not
// read: what lies there is root's own, and nothing that the login could use.
func closedHome(pattern, why string) bool {
	return strings.HasPrefix(pattern, "/root/") && strings.Contains(strings.ToLower(why), "permission denied")
}

// mostPaths bounds what a tree full of files can make us ask.
const (
	mostPaths = 20000
	mostTexts = 400
)

// cannFiles reads what the paths promise, and the trees that the environment
// or another home names.
func (l *look) cannFiles() (qs []query) {
	if l.tree == nil {
		return nil
	}
	wants := []cann.Want{l.tree.Want()}
	for _, home := range l.homes() {
		l.tree.Homes = append(l.tree.Homes, home)
		wants = append(wants, cann.WantHome(home, l.Arch.Value))
	}
	var modes []string
	for _, w := range wants {
		for _, pattern := range w.Globs[:min(len(w.Globs), mostTexts)] {
			qs = append(qs, l.cannGlob(pattern))
		}
		for _, p := range w.Texts[:min(len(w.Texts), mostTexts)] {
			qs = append(qs, l.cannText(p))
		}
		for _, p := range w.Links[:min(len(w.Links), mostTexts)] {
			qs = append(qs, l.cannLink(p))
		}
		modes = append(modes, w.Modes...)
	}
	return append(qs, l.cannModes(modes)...)
}

func (l *look) cannText(p string) query {
	return query{file(p), func(a host.Answer) {
		if a.State == host.Known {
			l.tree.Text[p] = clean(a.Stdout)
		}
	}}
}

func (l *look) cannLink(p string) query {
	return query{linkTo(p), func(a host.Answer) {
		if target := strings.TrimSpace(string(a.Stdout)); a.State == host.Known && a.Exit == 0 && target != "" {
			l.tree.Links[p] = target
		}
	}}
}

func (l *look) cannModes(modes []string) []query {
	if len(modes) == 0 {
		return nil
	}
	return []query{{stat(modes...), func(a host.Answer) {
		entries, _ := stats(clean(a.Stdout))
		for _, e := range entries {
			l.tree.Modes[e.path] = cann.File{Path: e.path, Mode: e.mode, UID: e.uid, GID: e.gid}
		}
	}}}
}

func (l *look) concludeCANN() {
	if l.tree == nil {
		return
	}
	if in := cann.Read(l.tree); len(in.Trees)+len(in.Links)+len(in.NNAL) > 0 {
		l.CANN.Value, l.CANN.State = in, host.Known
	}
}

// homes are trees outside the usual roots that the environment names, and the
// two places below the home of a login that does not live under /home.
func (l *look) homes() (out []string) {
	add := func(p string) {
		p = strings.TrimRight(p, "/")
		if path.IsAbs(p) && !slices.Contains(out, p) && !l.usualRoot(p) {
			out = append(out, p)
		}
	}
	for _, key := range []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"} {
		add(l.Facts.Env.Value[key])
	}
	if home := l.Identity.Value.Home; home != "" && home != "/" {
		add(home + "/Ascend/ascend-toolkit/latest")
		add(home + "/Ascend/cann")
	}
	return out
}

func (l *look) usualRoot(p string) bool {
	return slices.ContainsFunc(append(slices.Clone(cann.Roots), l.Roots...), func(root string) bool {
		for at := p; at != "/" && at != "."; at = path.Dir(at) {
			if ok, _ := path.Match(root, at); ok {
				return true
			}
		}
		return false
	})
}

// ActiveTree is the CANN a login of this host uses: the one its environment
// names, else the one the vendor's active link leads to, else the only one.
func (f *Facts) ActiveTree() (cann.Tree, bool) {
	in := f.CANN.Value
	for _, key := range []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"} {
		if t, ok := in.At(f.Env.Value[key]); ok {
			return t, true
		}
	}
	for _, t := range in.Trees {
		if t.Active != "" && t.Kind == "toolkit" && !t.User {
			return t, true
		}
	}
	for _, t := range in.Trees {
		if t.Active != "" {
			return t, true
		}
	}
	if len(in.Trees) == 1 {
		return in.Trees[0], true
	}
	return cann.Tree{}, false
}

// ActiveNNAL is the nnal that nnal/atb/latest leads to.
func (f *Facts) ActiveNNAL() (cann.NNAL, bool) {
	for _, n := range f.CANN.Value.NNAL {
		if n.Active {
			return n, true
		}
	}
	return cann.NNAL{}, false
}
