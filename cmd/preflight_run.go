package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/check"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

// looked is one machine that was looked at, before it is judged.
type looked struct {
	target host.Target
	facts  *facts.Facts
	scene  check.Scene
	took   time.Duration
}

func (s *session) preflight(ctx context.Context, o preflightOptions) error {
	ts, err := s.targets(o.targetFlags)
	if err != nil {
		return err
	}
	if err := o.recordFlags.one(ts); err != nil {
		return err
	}
	c, err := s.checks()
	if err != nil {
		return err
	}
	if err := o.known(c); err != nil {
		return err
	}
	done := onEach(ctx, s, o.targetFlags, ts, func(ctx context.Context, t host.Target, h host.Host) (looked, error) {
		return s.lookAt(ctx, o, c, t, h)
	})
	if len(done) == 1 && done[0].err != nil {
		return done[0].err
	}
	s.askPeers(ctx, o, done)
	d := screen.Preflight{Envelope: s.envelope("preflight/v1"), Verbose: s.flags.verbose, Strict: o.failOn == "warn"}
	var codes []report.Exit
	var fleet []check.Member
	var scene check.Scene
	for _, r := range done {
		out := screen.PreflightHost{Host: r.name, Overall: report.Unknown}
		if r.err != nil {
			out.Exit, out.Error = exitCode(ctx, r.err), why(r.err)
		} else {
			out, scene = s.judge(o, c, r.value), r.value.scene
			fleet = append(fleet, check.Member{Name: r.name, Facts: r.value.facts, Findings: out.Findings})
		}
		codes = append(codes, out.Exit)
		d.Hosts = append(d.Hosts, out)
	}
	if len(o.only) == 0 {
		d.Fleet = check.Fleet(c, fleet, scene)
	}
	check.Demote(d.Fleet, o.ignore)
	codes = append(codes, o.exit(d.Fleet))
	if err := s.show(d); err != nil {
		return err
	}
	return verdictOf(codes...)
}

// checks loads the catalogue with all that its judges know.
func (s *session) checks() (*check.Catalogue, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	m, err := s.matrix()
	if err != nil {
		return nil, err
	}
	return check.Load(b, m)
}

// known refuses ids and values before any host is asked.
func (o preflightOptions) known(c *check.Catalogue) error {
	for _, id := range o.ignore {
		if _, ok := c.Spec(id); !ok {
			return usage(report.T("--ignore %s: no check has this id%s", "--ignore %s：没有该检查项%s", id, report.Meant(id, c.IDs())), report.Text{},
				report.T("see the list of checks", "查看检查项列表"), "ascendctl list checks")
		}
	}
	_, err := o.scene(host.Target{})
	return err
}

// choose turns --device into logic ids of this host; free is known only now.
func (o preflightOptions) choose(f *facts.Facts) ([]int, error) {
	set, err := facts.ParseDevices(o.device)
	if err != nil {
		return nil, err
	}
	return set.Pick(f.Devices(), 0)
}

// lookAt looks at one machine for what is wanted of it.
func (s *session) lookAt(ctx context.Context, o preflightOptions, c *check.Catalogue, t host.Target, h host.Host) (looked, error) {
	began := s.app.Now()
	scene, err := o.scene(t)
	if err != nil {
		return looked{}, err
	}
	// A recording is judged for what it was recorded for.
	if r, ok := h.(interface{ Wanted() host.Wanted }); ok && o.workload == "" && o.task == "" {
		scene = check.Of(r.Wanted())
	}
	wants := c.Wants(scene)
	wants.Reach = append(wants.Reach, o.reach...)
	wants.PID = o.pid
	look, err := s.lookOptions(wants)
	if err != nil {
		return looked{}, err
	}
	h, tape := tapeOf(h, o.recordFlags)
	f := facts.Collect(ctx, h, look)
	if o.pid != 0 { // its environment is the one to judge
		if f.Env = f.EnvProcess; !f.Env.Known() {
			return looked{}, &report.Problem{What: report.T("cannot read the environment of process %d on %s", "无法读取 %[2]s 上进程 %[1]d 的环境变量", o.pid, t.Name), Why: report.Same(first(f.Env.Note, string(f.Env.State))),
				Do: report.T("name a process that runs there, and look as its user or as root", "指定正在运行的进程，并以该进程的用户或 root 查看"), Exit: report.ExitFailed}
		}
	}
	if o.device != "" {
		if scene.Devices, err = o.choose(&f); err != nil {
			return looked{}, err
		}
	}
	if err := s.writeRecording(o.recordFlags, tape, scene.Wanted()); err != nil {
		return looked{}, err
	}
	return looked{t, &f, scene, s.app.Now().Sub(began)}, nil
}

// askPeers lets every host of a service on several hosts try the NPUs of the
// others: their addresses are known only when all have answered.
func (s *session) askPeers(ctx context.Context, o preflightOptions, done []outcome[looked]) {
	at := map[string]*looked{}
	var ts []host.Target
	for i := range done {
		if l := &done[i].value; done[i].err == nil && l.scene.Nodes > 1 {
			at[l.target.Name] = l
			ts = append(ts, l.target)
		}
	}
	if len(at) < 2 {
		return
	}
	// Collected before anyone asks, since the answers go into the same facts.
	peers := map[string][]string{}
	for _, t := range ts {
		peers[t.Name] = peersOf(t, ts, at)
	}
	// A host that is lost now keeps what it said, and its way to the others is unknown.
	onEach(ctx, s, o.targetFlags, ts, func(ctx context.Context, t host.Target, h host.Host) (struct{}, error) {
		facts.AskPeers(ctx, h, at[t.Name].facts, peers[t.Name])
		return struct{}{}, nil
	})
}

// peersOf are the NPU addresses of all hosts but t.
func peersOf(t host.Target, ts []host.Target, at map[string]*looked) (out []string) {
	for _, other := range ts {
		if other.Name == t.Name {
			continue
		}
		for _, h := range at[other.Name].facts.HCCN.Value {
			if h.IP.Known() {
				out = append(out, h.IP.Value)
			}
		}
	}
	return out
}

// judge gives the verdict on one machine.
func (s *session) judge(o preflightOptions, c *check.Catalogue, l looked) screen.PreflightHost {
	found := check.Host(c, l.facts, l.scene)
	check.Demote(found, o.ignore)
	found = slices.DeleteFunc(found, func(f report.Finding) bool {
		return len(o.only) > 0 && !slices.ContainsFunc(o.only, func(id string) bool { return strings.HasPrefix(f.ID, id) })
	})
	out := screen.PreflightHost{Host: l.target.Name, Findings: found, Facts: l.facts, Groups: headings(c), TookMS: l.took.Round(time.Millisecond).Milliseconds()}
	out.Overall, _ = check.Overall(found)
	out.Exit = o.exit(found)
	for i := range found {
		found[i].Run = s.onHost(s.ours(found[i].Run), o, l.target, pythonSets(o, l.facts, found))
		if out.Next == "" && found[i].Refuses() {
			out.Next = found[i].Run
		}
	}
	return out
}

// pythonSets is the flag that brings what a workload wants of Python, where that
// is not there already: without it the suggested plan would leave a host that is
// not ready.
func pythonSets(o preflightOptions, f *facts.Facts, found []report.Finding) string {
	engine, version, _ := strings.Cut(o.workload, "@")
	set, dist := engine, engine
	switch engine {
	case "":
		return ""
	case "torch":
		set, dist = "torch_npu", "torch"
	case "vllm-ascend", "mindspore":
	default:
		set = ""
	}
	var sets []string
	have, _ := matrix.Parse(matrix.PEP440, f.Packages.Value[dist])
	want, _ := matrix.Parse(matrix.PEP440, version)
	if set != "" && (!have.Known() || want.Known() && !have.Equal(want)) {
		sets = append(sets, set)
	}
	deps := slices.ContainsFunc(found, func(f report.Finding) bool { return f.ID == "py.deps" && f.Status == report.Pass })
	if len(sets) > 0 || !deps { // a fresh environment has nothing of what CANN needs
		sets = append(sets, "cann")
	}
	if len(sets) == 0 {
		return ""
	}
	return " --with " + strings.Join(sets, ",")
}

// onHost makes a line of ours speak of the machine that was looked at, and of
// what it is to run, where the command takes them.
func (s *session) onHost(line string, o preflightOptions, t host.Target, with string) string {
	if !strings.HasPrefix(line, Name+" ") {
		return line
	}
	for _, more := range []string{o.at(t.Name), o.toRun(), with} {
		if more != "" && s.parses(line+more) == nil {
			line += more
		}
	}
	return line
}

// toRun is what the host is to run, as a flag.
func (o preflightOptions) toRun() string {
	if o.workload == "" {
		return ""
	}
	return " --for " + report.Line(o.workload)
}

// exit is the exit code that --fail-on makes of findings.
func (o preflightOptions) exit(found []report.Finding) report.Exit {
	_, code := check.Overall(found)
	switch {
	case o.failOn == "never":
		return report.ExitOK
	case o.failOn == "warn" && code == report.ExitOK && slices.ContainsFunc(found, report.Finding.Cautions):
		return report.ExitWarnings
	}
	return code
}

func headings(c *check.Catalogue) map[string]report.Text {
	out := map[string]report.Text{}
	for _, g := range c.Groups() {
		out[g.ID] = g.Title
	}
	return out
}
