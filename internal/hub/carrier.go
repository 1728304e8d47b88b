package hub

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// carrier is a package tool that a host has anyway. It runs as the caller would
// run it, so its mirrors, proxies, certificates and credentials are the
// caller's; what it brings is checked against our own digest.
type carrier struct {
	tool    string
	ways    [][]string            // how it is called, best first
	version func() *regexp.Regexp // in the answer to --version; old Pythons warn before it
	args    func(Package) []string
	input   func(Package) string // requirements file, if it reads one
	env     []string
	words   func() *regexp.Regexp // lines that say why it failed; nil: the last ones
	noise   func() *regexp.Regexp // lines that never do
}

const requirements = "requirements.txt"

// carriers by the name of their registry. Both command lines were run with pip
// 18.1 to 24.2 and npm 2.15 to 11.19 (2026-11-30): --python-version 312 without
// a dot is the only form that old pips read.
var carriers = map[string]*carrier{
	"pypi": {
		tool:    "pip",
		ways:    [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}},
		version: pattern(`(?m)^pip (\d[\w.]*)`),
		args: func(p Package) []string {
			w, _ := wheelOf(p.File) // Check has read it before
			return []string{"download", "--no-deps", "--only-binary=:all:", "--platform", w.platform,
				"--python-version", w.python, "--implementation", "cp", "--abi", w.abi,
				"--dest", ".", "--require-hashes", "-r", requirements}
		},
		input: func(p Package) string { return p.Package + "==" + p.Version + " --hash=sha256:" + p.SHA256 + "\n" },
		// A machine may demand virtual environments; nothing is installed here.
		env:   []string{"PIP_REQUIRE_VIRTUALENV=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "PIP_PROGRESS_BAR=off"},
		noise: pattern(`(?i)^(looking in|collecting|downloading|saved|using cached|\[?notice)|new release of pip|deprecation`),
	},
	"npm": {
		tool:    "npm",
		ways:    [][]string{{"npm"}},
		version: pattern(`(?m)^(\d+\.[\w.-]+)`),
		// pack only stores the archive; --ignore-scripts says so once more.
		args: func(p Package) []string { return []string{"pack", "--ignore-scripts", p.Package + "@" + p.Version} },
		env: []string{"npm_config_progress=false", "npm_config_loglevel=error", "npm_config_color=false",
			"npm_config_update_notifier=false", "npm_config_pack_destination=.", "npm_config_dry_run=false", "npm_config_json=false"},
		words: pattern(`(?i)^npm err(!|or) `),
		noise: pattern(`(?i)^npm err(!|or)\s*($|at |\}|a complete log|/|if you are behind|'proxy' config|\w+: ['\d])`),
	},
}

// tool is a carrier found on this machine.
type tool struct {
	*carrier
	shown   []string // as a person types it
	argv    []string // as it is run: the first word is a path
	version string
}

func (t tool) command(p Package) string {
	return strings.Join(append(t.shown[:len(t.shown):len(t.shown)], t.args(p)...), " ")
}

// find looks for a carrier that answers. When this machine has none it tells
// why: no program is there, or those that are do not answer.
func (o *Options) find(ctx context.Context, c *carrier) (*tool, []report.Text) {
	var why []report.Text
	for _, way := range c.ways {
		file, err := o.LookPath(way[0])
		if err != nil {
			continue
		}
		argv := append([]string{file}, way[1:]...)
		// In the root folder, because `python3 -m pip` would take a pip.py
		// from the folder it stands in.
		out, exit, err := o.Exec(ctx, Command{Argv: append(argv[:len(argv):len(argv)], "--version"), Dir: "/", Env: c.env})
		m := c.version().FindStringSubmatch(string(out))
		if err == nil && exit == 0 && m != nil {
			return &tool{carrier: c, shown: way, argv: argv, version: m[1]}, nil
		}
		name := strings.Join(way, " ")
		o.Log.Info("carrier does not answer", "tool", name, "exit", exit, "err", err)
		why = append(why, report.T("%s: %s", "%s：%s", name, o.said(c, out, exit, err)))
	}
	if len(why) == 0 {
		why = []report.Text{report.T("%s: not found", "%s：未找到", c.tool)}
	}
	return nil, why
}

// said puts the end of a failed command into one line: its status and the lines
// that tell why, without secrets.
func (o *Options) said(c *carrier, out []byte, exit int, err error) report.Text {
	if err != nil {
		return report.T("cannot be run: %s", "无法运行：%s", o.Redact.String(err.Error()))
	}
	lines := o.reasons(c, out)
	if len(lines) == 0 {
		return report.T("exit %d without a word", "退出码 %d，无输出", exit)
	}
	return report.T("exit %d: %s", "退出码 %d：%s", exit, strings.Join(lines, " / "))
}

const (
	keptLines = 4
	keptRunes = 240
)

var (
	escapes = pattern(`\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]`)
	changes = pattern(`0x[0-9a-f]+|\d+`)
)

// reasons picks the lines of an output that tell why: the last ones of pip, the
// first error lines of npm; a line that only repeats another with other numbers
// counts once.
func (o *Options) reasons(c *carrier, out []byte) []string {
	var all, marked []string
	seen := map[string]int{}
	for line := range strings.SplitSeq(strings.ReplaceAll(string(out), "\r", "\n"), "\n") {
		line = strings.Join(strings.Fields(escapes().ReplaceAllString(line, "")), " ")
		if line == "" || c.noise().MatchString(line) {
			continue
		}
		line = cut(o.Redact.String(line))
		key := changes().ReplaceAllString(line, "#")
		if seen[key]++; seen[key] > 1 {
			continue
		}
		all = append(all, line)
		if c.words != nil && c.words().MatchString(line) {
			marked = append(marked, line)
		}
	}
	if len(marked) > 0 {
		return marked[:min(len(marked), keptLines)]
	}
	return all[max(0, len(all)-keptLines):]
}

func cut(s string) string {
	if r := []rune(s); len(r) > keptRunes {
		return string(r[:keptRunes]) + "..."
	}
	return s
}

var (
	offline  = pattern(`(?i)retrying \(|connection ?(error|refused|reset)|timed? ?out|proxyerror|sslerror|CERT|ECONN|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH`)
	listed   = pattern(`from versions: [0-9]`) // pip reached an index that has the package
	diskFull = pattern(`(?i)no space left on device|ENOSPC|disk quota exceeded|EDQUOT`)
)

// errNoSpace marks a tool that found the disk full.
var errNoSpace = errors.New("no space left on device")

// failure is why one row could not be had.
type failure struct {
	reason  report.Text
	offline bool // the registry was not reached: other rows of it will not do better
	err     error
}

func (f *failure) Error() string { return f.reason.En }
func (f *failure) Unwrap() error { return f.err }

// run lets the tool bring the archive into dir.
func (o *Options) run(ctx context.Context, t *tool, p Package, dir string) *failure {
	env := append(t.env[:len(t.env):len(t.env)], "TMPDIR="+dir+"/tmp") // so that what it leaves behind goes with ours
	argv := append(t.argv[:len(t.argv):len(t.argv)], t.args(p)...)
	o.Log.Info("fetch", "command", t.command(p), "dir", dir)
	out, exit, err := o.Exec(ctx, Command{Argv: argv, Dir: dir, Env: env})
	o.Log.Info("fetched", "tool", t.tool, "exit", exit, "err", err)
	if err == nil && exit == 0 {
		return nil
	}
	f := &failure{reason: o.said(t.carrier, out, exit, err), offline: offline().Match(out) && !listed().Match(out), err: err}
	if diskFull().Match(out) {
		f.err = errNoSpace
	}
	if f.err == nil {
		f.err = fmt.Errorf("%s ended with %d", t.tool, exit)
	}
	return f
}
