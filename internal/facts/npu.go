package facts

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
)

// smi asks npu-smi. An answer that says no is still an answer: its Failure
// says why, and the fact is known. Only no answer at all is unknown.
func (l *look) smi(f *Fact[NPUSmi], q host.Question) query {
	return query{q, func(a host.Answer) { l.smiAnswer(f, q, a) }}
}

func (l *look) smiAnswer(f *Fact[NPUSmi], q host.Question, a host.Answer) {
	*f = Fact[NPUSmi]{State: a.State, Source: source(q)}
	switch a.State {
	case host.Known:
		if f == &l.NPUInfo && a.Took > 0 { // slowness of the driver is a symptom of its own
			l.NPUInfoMS = Fact[int64]{Value: a.Took.Milliseconds(), State: host.Known, Source: f.Source}
		}
		f.Value = ParseNPUSmi(a.Stdout, a.Stderr, strings.Join(q.Args, " "), &a.Exit)
	case host.Unknown:
		f.Note = reason(a)
		l.hung = l.hung || isTimeout(a)
	}
}

func isTimeout(a host.Answer) bool { return errors.Is(a.Err, host.ErrTimeout) }

// npuSmi is asked last. The door asks npu-smi no more after it hung once.
func (l *look) npuSmi() []query {
	where := stat("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi", "/usr/bin/npu-smi")
	ask := func(f *Fact[NPUSmi], args ...string) query {
		return l.smi(f, within(smiTime, run(append([]string{"npu-smi"}, args...)...)))
	}
	return []query{
		into(&l.SMIWhere, where, func(s string) (string, error) {
			entries, err := stats(s)
			if err != nil || entries[0].kind == "d" { // a wrong container mount leaves a folder there
				return "", odd("npu-smi, a file", s)
			}
			return entries[0].path, nil
		}),
		ask(&l.NPUInfo, "info"),
		ask(&l.NPUMap, "info", "-m"),
		ask(&l.NPUList, "info", "-l"),
	}
}

// npuSmiMore asks about single cards, and once more as root what the login
// got no answer to, so that a report can say "works as root, not as you".
func (l *look) npuSmiMore() []query {
	qs := l.processes()
	if l.hung || l.NPUInfo.Absent() && l.SMIWhere.Absent() || l.NPUInfo.State == "" {
		return qs
	}
	qs = append(qs, l.boards()...)
	if !l.answered() {
		return append(qs, l.infoAsRoot()...)
	}
	return append(qs, l.chipQuestions()...)
}

// answered is true when npu-smi info gave the login a table.
func (l *look) answered() bool { return l.NPUInfo.Known() && len(l.NPUInfo.Value.Chips) > 0 }

// isRoot: asking again as root is in vain.
func (l *look) isRoot() bool { return l.Identity.Known() && l.Identity.Value.UID == 0 }

// rootSmi are the two ways to ask as root: plain, and with the driver's
// libraries on the loader path, because sudo drops it.
func (l *look) rootSmi(args ...string) []host.Question {
	bin := "npu-smi"
	if l.SMIWhere.Known() {
		bin = l.SMIWhere.Value
	} else if l.Tools.Value["npu-smi"] != "" {
		bin = l.Tools.Value["npu-smi"]
	}
	plain := asRoot(within(smiTime, run(append([]string{bin}, args...)...)))
	with := plain
	with.Env = []string{"LD_LIBRARY_PATH=" + driverRoot + "/lib64/driver:" + driverRoot + "/lib64/common"}
	return []host.Question{plain, with}
}

// firstGood keeps the first answer that is one.
func (l *look) firstGood(f *Fact[NPUSmi], qs []host.Question, good func(NPUSmi) bool) (out []query) {
	for _, q := range qs {
		out = append(out, query{q, func(a host.Answer) {
			if f.Known() && good(f.Value) {
				return
			}
			var got Fact[NPUSmi]
			if l.smiAnswer(&got, q, a); len(q.Env) > 0 {
				got.Source = "# " + strings.Join(append(slices.Clone(q.Env), q.Args...), " ")
			}
			if got.Known() && good(got.Value) || f.State == "" {
				*f = got
			}
		}})
	}
	return out
}

func (l *look) infoAsRoot() []query {
	if l.isRoot() {
		return nil
	}
	return l.firstGood(&l.NPUInfoRoot, l.rootSmi("info"), func(n NPUSmi) bool { return len(n.Chips) > 0 })
}

// firstCard is the first NPU id and chip index that npu-smi named, 0 and 0 when
// it named none.
func (l *look) firstCard() (npu, chip string) {
	npu, chip = "0", "0"
	if l.answered() {
		c := l.NPUInfo.Value.Chips[0]
		if c.NPU != nil {
			npu = strconv.Itoa(*c.NPU)
		}
		if c.Chip != nil {
			chip = strconv.Itoa(*c.Chip)
		}
	}
	return npu, chip
}

func (l *look) boards() []query {
	npu, chip := l.firstCard()
	board := []string{"info", "-t", "board", "-i", npu}
	qs := []query{
		l.smi(&l.NPUBoard, within(smiTime, run(append([]string{"npu-smi"}, board...)...))),
	}
	if !l.oneChip() {
		qs = append(qs, l.smi(&l.NPUChip, within(smiTime, run(append(append([]string{"npu-smi"}, board...), "-c", chip)...))))
	}
	if l.isRoot() {
		first := &qs[0]
		take := first.take
		first.take = func(a host.Answer) { take(a); l.NPUBoardRoot = l.NPUBoard }
		return qs
	}
	return append(qs, l.firstGood(&l.NPUBoardRoot, l.rootSmi(board...), func(n NPUSmi) bool { return n.Board != nil })...)
}

// oneChip is true for the 950, whose npu-smi knows no -c.
func (l *look) oneChip() bool {
	return slices.ContainsFunc(l.NPUs(), func(p PCI) bool { return p.Generation == "950" }) ||
		l.answered() && strings.Contains(l.NPUInfo.Value.Chips[0].Name, "950")
}

// chipQuestions asks about the chips that are not well; about all when slow
// questions are wanted.
func (l *look) chipQuestions() (qs []query) {
	const most = 16
	ask := func(to *[]ChipAnswer, c SmiChip, kind string) {
		argv := []string{"npu-smi", "info", "-t", kind, "-i", strconv.Itoa(*c.NPU)}
		at := ChipAnswer{NPU: *c.NPU}
		if c.Chip != nil {
			at.Chip = *c.Chip
			if !l.oneChip() && kind != "common" {
				argv = append(argv, "-c", strconv.Itoa(*c.Chip))
			}
		}
		q := within(smiTime, run(argv...))
		qs = append(qs, query{q, func(a host.Answer) {
			l.smiAnswer(&at.Answer, q, a)
			*to = append(*to, at)
		}})
	}
	asked := 0
	for _, c := range l.NPUInfo.Value.Chips {
		ill := c.Health != "" && c.Health != "OK"
		if c.NPU == nil || !ill && !l.Deep || asked == most {
			continue
		}
		asked++
		if ill {
			ask(&l.NPUHealth, c, "health")
		}
		ask(&l.NPUECC, c, "ecc")
		if l.Deep && (c.Chip == nil || *c.Chip == 0) {
			ask(&l.NPUCommon, c, "common")
		}
	}
	npu, chip := l.firstCard()
	if l.virtual() {
		qs = append(qs, l.smi(&l.NPUVirtual, within(smiTime, run("npu-smi", "info", "-t", "info-vnpu", "-i", npu, "-c", chip))))
	}
	if l.Serving && len(l.NPUInfo.Value.Chips) > 1 {
		qs = append(qs, l.smi(&l.NPUTopo, within(smiTime, run("npu-smi", "info", "-t", "topo"))))
	}
	return qs
}

// virtual is true when a slice of a chip is in use here.
func (l *look) virtual() bool {
	named := slices.ContainsFunc(l.Nodes.Value, func(n Node) bool { return strings.HasPrefix(n.Path, "/dev/vdavinci") })
	ids := l.Davinci()
	return named || len(ids) > 0 && ids[len(ids)-1] >= firstVirtual || l.Install.Value.Mode == "vnpu_guest"
}

// processes asks /proc about the processes npu-smi listed.
func (l *look) processes() []query {
	const most = 1024
	var pids []string
	for _, p := range l.NPUInfo.Value.Processes {
		if id := strconv.Itoa(p.PID); p.PID > 0 && len(pids) < most && !slices.Contains(pids, id) {
			pids = append(pids, id)
		}
	}
	if len(pids) == 0 {
		return nil
	}
	return []query{{typed(host.Procs, pids...), func(a host.Answer) {
		if a.State == host.Known {
			l.procs = procs(clean(a.Stdout))
		}
	}}}
}

// procs reads "pid uid user start container command", tab-separated; - is not
// to be seen.
func procs(s string) map[int]Process {
	out := map[int]Process{}
	for line := range strings.SplitSeq(s, "\n") {
		f := strings.SplitN(line, "\t", 6)
		pid, err := strconv.Atoi(f[0])
		if err != nil || len(f) < 6 {
			continue
		}
		p := Process{PID: pid, UID: atoi(f[1], -1), User: seen(f[2]), Container: seen(f[4]), Command: strings.TrimSpace(f[5])}
		p.Started, _ = unix(f[3])
		out[pid] = p
	}
	return out
}

func seen(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// concludeProcesses joins what npu-smi lists with what /proc knows.
func (l *look) concludeProcesses() {
	if l.NPUInfo.State == "" {
		return
	}
	l.Processes = Fact[[]Process]{State: l.NPUInfo.State, Source: l.NPUInfo.Source, Note: l.NPUInfo.Note}
	if l.answered() {
		l.Processes.Value = join(l.NPUInfo.Value, l.procs)
	} else if l.NPUInfo.Known() {
		l.Processes.State, l.Processes.Note = host.Unknown, "npu-smi gave no table"
	}
}

func join(n NPUSmi, known map[int]Process) (out []Process) {
	for _, s := range n.Processes {
		p, ok := known[s.PID]
		if !ok {
			p = Process{PID: s.PID, UID: -1}
		}
		p.Name = s.Name
		p.NPU, p.Chip, p.MemoryMB = orNone(s.NPU), orNone(s.Chip), int64(orNone(s.MemMB))
		out = append(out, p)
	}
	return out
}

// orNone is -1 for what was not printed.
func orNone(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}
