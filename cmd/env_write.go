package cmd

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/install"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

func (o *envOptions) writeFlags(f *flagSet) {
	f.text(&o.write, "write", "", report.T("write it to `FILE` of the host, as a plan; the form by -o, else .env and .conf systemd, .fish fish, others bash; -o docker: a CDI file",
		"以变更计划的方式写入主机上的 `FILE`；格式取自 -o，否则 .env 与 .conf 为 systemd，.fish 为 fish，其余为 bash；-o docker 写出 CDI 文件"))
	f.in = flagsSafety
	f.yes(&o.dryRun, "dry-run", "", report.T("with --write: show the plan, change nothing", "与 --write 同用：仅显示变更计划，不做变更"))
	f.yes(&o.yes, "yes", "y", report.T("with --write: agree to the plan", "与 --write 同用：同意变更计划"))
}

// envWrite is env into a file of the host, by a plan. The form stands in -o, so
// the plan itself is shown as a table unless -o asks for data.
func (s *session) envWrite(ctx context.Context, o envOptions) error {
	form := s.format
	if slices.Contains(envForms, form) {
		s.format = "table"
	} else {
		form = formOf(o.write)
	}
	t, k, err := s.setupOf(ctx, o.targetFlags, o.cann, form == "docker")
	if err != nil {
		return err
	}
	text, err := s.envText(t, k, o, form)
	if err != nil {
		return err
	}
	name := o.write
	if t.Name == "local" {
		if name, err = filepath.Abs(name); err != nil {
			return err
		}
	}
	if !path.IsAbs(name) || path.Clean(name) != name || name == "/" || strings.ContainsAny(name, "\n\x00") {
		return usage(report.T("--write wants a clean absolute path of %s, got %q", "--write 应为 %s 上规范的绝对路径，实为 %q", t.Name, o.write), report.Text{},
			report.T("write it from /, without ..", "从 / 写起，不含 .."), "")
	}
	all, closeAll := s.sites(ctx, o.targetFlags, []host.Target{t})
	defer closeAll()
	again := s.again("--dry-run")
	s.onSites(ctx, o.targetFlags, all, func(ctx context.Context, on *site) error {
		step, err := fileStep(ctx, on.host, k.facts.Identity.Value, name, text)
		if err != nil {
			return err
		}
		if form == "docker" {
			step.Title = report.T("CDI file %s", "CDI 文件 %s", name)
		}
		return s.make(ctx, on, &install.Set{Plan: plan.Plan{Name: report.Line("env", name), Title: step.Title, Again: again, Steps: []plan.Step{step}}})
	})
	o.serial = 1
	return s.change(ctx, o.changeFlags, all, course{again: again, at: o.at})
}

// formOf is the form a file of that name is read in.
func formOf(name string) string {
	switch path.Ext(name) {
	case ".env", ".conf":
		return "systemd"
	case ".fish":
		return "fish"
	}
	return "bash"
}

// envText is what the file is to hold. No date stands in it: the same host gives
// the same file.
func (s *session) envText(t host.Target, k setup, o envOptions, form string) (string, error) {
	if form == "docker" {
		c, _, _, err := s.containerOf(t, k, o.container)
		if err != nil {
			return "", err
		}
		return c.CDI(), nil
	}
	text, _, err := k.text(form, fmt.Sprintf("CANN %s (%s), by %s %s", k.tree.Version, k.tree.Path, Name, s.app.Build.Version))
	return text, err
}

// fileStep writes a file that everybody may read, and the folders that are
// missing above it. It needs root where the login may not write.
func fileStep(ctx context.Context, h host.Host, id facts.Identity, name, text string) (plan.Step, error) {
	s := plan.Step{ID: "env.file", Title: report.T("environment of CANN in %s", "将 CANN 环境变量写入 %s", name)}
	if recorded(h) {
		s.Do = []plan.Act{plan.File{Path: name, Data: []byte(text), Mode: 0o644}}
		return s, nil
	}
	const above = `d=$1; while [ ! -d "$d" ]; do d=$(dirname -- "$d"); done; printf '%s\n' "$d"; [ -w "$d" ]`
	a := h.Ask(ctx, []host.Question{{Kind: host.Exec, Args: []string{"sh", "-c", above, "sh", path.Dir(name)}}})[0]
	if a.State != host.Known {
		return s, fmt.Errorf("%s: %w", path.Dir(name), a.Err)
	}
	s.Root = a.Exit != 0 && id.UID != 0
	there := strings.TrimSuffix(string(a.Stdout), "\n")
	for d := path.Dir(name); d != there && d != "/"; d = path.Dir(d) {
		s.Do = slices.Insert(s.Do, 0, plan.Act(plan.Dir{Path: d, Mode: fs.FileMode(0o755)}))
	}
	s.Do = append(s.Do, plan.File{Path: name, Data: []byte(text), Mode: 0o644})
	return s, nil
}
