package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/hub"
	"github.com/ascendctl/ascendctl/internal/install"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

// ways are how this machine reaches what it downloads, for the plan: proxies and
// indexes as they are configured, without secrets.
func (s *session) ways(ctx context.Context, o installOptions, r *packing) (notes []report.Text, err error) {
	n, err := r.fetch.Network(ctx)
	if err != nil {
		return nil, err
	}
	proxies := nonEmpty(n.HTTPSProxy, n.HTTPProxy, n.PipProxy)
	if len(proxies) > 0 {
		notes = append(notes, report.T("downloads go through the proxy %s, except for %s", "下载经由代理 %s，以下地址除外：%s", strings.Join(proxies, " "), first(strings.Join(n.NoProxy, " "), "-")))
	}
	if indexes := nonEmpty(append([]string{n.Index}, n.Extra...)...); o.with != "" && len(indexes) > 0 {
		notes = append(notes, report.T("pip of this machine asks %s", "本机 pip 使用的索引：%s", strings.Join(indexes, " ")))
	}
	return notes, nil
}

// spread copies what the plans will want to all hosts at once: the plans
// themselves run a few hosts at a time. A login that is not root cannot write
// where packages of root lie; there the plan sends them.
func (s *session) spread(ctx context.Context, o installOptions, all []*site, sets map[*site]*install.Set, seen map[*site]*facts.Facts) error {
	if len(all) < 2 {
		return nil
	}
	progress := newTasks(s.reporter())
	s.onSites(ctx, o.targetFlags, all, func(ctx context.Context, k *site) error {
		if id := seen[k].Identity; !o.user && (!id.Known() || id.Value.UID != 0) {
			return nil
		}
		var files []install.Copying
		for _, step := range sets[k].Plan.Steps {
			if slices.ContainsFunc(k.show.Steps, func(s plan.ShownStep) bool { return s.ID == step.ID && s.Keep }) {
				continue // it will not run, and would leave them there
			}
			for _, act := range step.Do {
				if up, ok := act.(plan.Upload); ok {
					if got, ok := up.Src.(*install.Got); ok {
						files = append(files, install.Copying{Got: got, Path: up.Path, Mode: up.Mode})
					}
				}
			}
		}
		return install.Copy(ctx, []host.Host{k.host}, files, install.CopyOptions{Progress: func(h, file string, done, size int64) {
			progress.set(h+" "+file, report.Text{}, done, size)
		}})[0].Err
	})
	for _, k := range all {
		if k.err != nil {
			return k.err
		}
	}
	return nil
}

func (s *session) fetcher(from, index string) *install.Fetcher {
	progress := s.reporter()
	tasks := newTasks(progress)
	return &install.Fetcher{
		Cache: filepath.Join(s.app.cacheDir(), "packages"), From: from, Index: index, Env: s.app.Getenv, LookPath: s.app.LookPath,
		Exec: func(ctx context.Context, t install.Tool) ([]byte, int, error) {
			return s.app.Exec(ctx, hub.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env})
		},
		Progress: tasks.set, Log: s.log.Logger, Redact: s.secrets,
	}
}

// bring fetches what the plans need, once for all hosts, and makes the plans
// again with the files at hand. A dry run brings nothing: its plan shows the
// published digests.
func (s *session) bring(ctx context.Context, o installOptions, r *packing, all []*site, sets map[*site]*install.Set, seen map[*site]*facts.Facts) error {
	if o.dryRun && o.from == "" {
		return nil
	}
	var packages []install.Package
	for _, k := range all {
		for _, p := range sets[k].Packages {
			if k.err == nil && k.refuse == nil && len(sets[k].Missing) > 0 && !slices.ContainsFunc(packages, func(q install.Package) bool { return q.ID == p.ID }) {
				packages = append(packages, p)
			}
		}
	}
	files, err := r.fetch.Files(ctx, packages)
	if err != nil {
		return s.elsewhere(err)
	}
	for _, k := range all {
		if k.err != nil || k.refuse != nil || o.uninstall != "" {
			continue
		}
		var wheels []install.File
		if wheels, k.err = s.wheels(ctx, o, r, sets[k], seen[k]); k.err != nil {
			continue
		}
		var set *install.Set
		if set, k.err = s.steps(ctx, o, r, k, seen[k], files, wheels); k.err == nil {
			*sets[k], k.refuse = *set, set.Refused()
		}
	}
	return nil
}

// elsewhere makes the advice to download on another machine one about what was
// asked for here: rooms below know the command alone.
func (s *session) elsewhere(err error) error {
	var p *report.Problem
	if !errors.As(err, &p) || p.Run != "ascendctl install-cann --print-urls" {
		return err
	}
	copied := *p
	copied.Run = s.again("--yes", "-y", "--dry-run") + " --print-urls"
	return &copied
}

// wheels brings the Python set from where --from says; without it, or with an
// index named, the host's own pip asks the index.
func (s *session) wheels(ctx context.Context, o installOptions, r *packing, set *install.Set, f *facts.Facts) ([]install.File, error) {
	if o.from == "" || o.index != "" || len(set.Pins) == 0 {
		return nil, nil
	}
	got, err := r.fetch.Wheels(ctx, wheelsOf(set, f))
	if err != nil {
		return nil, err
	}
	var out []install.File
	for _, g := range got {
		out = append(out, g.File())
	}
	return out, nil
}

func wheelsOf(set *install.Set, f *facts.Facts) install.Wheels {
	python := f.Python.Value.Version
	if i := strings.LastIndex(python, "."); strings.Count(python, ".") == 2 {
		python = python[:i]
	}
	return install.Wheels{Requirements: set.Pins, Python: python, Arch: f.Arch.Value, Glibc: f.Glibc.Value, Extra: set.Indexes}
}

func (s *session) printURLs(ctx context.Context, o installOptions, r *packing, all []*site, sets map[*site]*install.Set, seen map[*site]*facts.Facts) error {
	d := screen.Downloads{}
	var items []install.Item
	var wheels []install.Wheels
	for _, k := range all {
		if k.err != nil && len(sets[k].Packages) == 0 {
			return k.err
		}
		d.Host = strings.TrimPrefix(d.Host+","+k.target.Name, ",")
		for _, p := range sets[k].Packages {
			if it := install.ItemOf(p); !slices.ContainsFunc(items, func(q install.Item) bool { return q.ID == it.ID }) {
				items = append(items, it)
			}
		}
		if len(sets[k].Pins) > 0 {
			wheels = append(wheels, wheelsOf(sets[k], seen[k]))
		}
	}
	var err error
	if d.Files, err = r.fetch.Print(ctx, items, wheels); err != nil {
		return err
	}
	d.Envelope = s.envelope("downloads/v1")
	return s.show(d)
}
