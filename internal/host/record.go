package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Recorder is a Host that keeps every question and answer. It is safe for
// concurrent use. What is written through it is not kept.
type Recorder struct {
	Host
	mu    sync.Mutex
	order []string // question lines, in the order of their first asking
	taken map[string]exchange
}

type exchange struct {
	q Question
	a Answer
}

// Record makes a host that keeps what h answers.
func Record(h Host) *Recorder { return &Recorder{Host: h, taken: map[string]exchange{}} }

// keep holds the last answer to each question.
func (r *Recorder) keep(q Question, a Answer) {
	q.Env = plainEnv(q.Env)
	line := questionLine(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.taken[line]; !again {
		r.order = append(r.order, line)
	}
	r.taken[line] = exchange{q, a}
}

// Ask asks the host and keeps the answers.
func (r *Recorder) Ask(ctx context.Context, qs []Question) []Answer {
	answers := r.Host.Ask(ctx, qs)
	for i, a := range answers[:min(len(answers), len(qs))] {
		r.keep(qs[i], a)
	}
	return answers
}

// Run runs the command; one that was given nothing on stdin and streams
// nowhere is kept.
func (r *Recorder) Run(ctx context.Context, c Command) (Result, error) {
	out, err := r.Host.Run(ctx, c)
	if c.Stdin != nil || c.Stdout != nil || c.Stderr != nil {
		return out, err
	}
	q := Question{Kind: Exec, Args: c.Argv, Env: c.Env, Root: c.Root}
	switch {
	case err == nil:
		r.keep(q, Answer{State: Known, Result: out})
	case errors.Is(err, ErrNoCommand):
		r.keep(q, Answer{State: Absent})
	case ctx.Err() == nil:
		r.keep(q, unknown(err))
	}
	return out, err
}

// ReadFile reads the file and keeps what it holds.
func (r *Recorder) ReadFile(ctx context.Context, name string) ([]byte, error) {
	data, err := r.Host.ReadFile(ctx, name)
	q := Question{Kind: File, Args: []string{name}}
	switch {
	case err == nil:
		r.keep(q, known(string(data)))
	case errors.Is(err, fs.ErrNotExist):
		r.keep(q, Answer{State: Absent})
	case ctx.Err() == nil:
		r.keep(q, unknown(err))
	}
	return data, err
}

// RecordOptions say how a recording is written.
type RecordOptions struct {
	Tool string    // "ascendctl 0.2.0", for the head
	Now  time.Time // for the head
	// Masks replaces identifiers; nil keeps them. Secrets are never kept.
	Masks  *Masks
	Wanted Wanted // what the user wanted of the host
}

// YAML is the recording: an open world that gives equal answers when it is
// replayed.
func (r *Recorder) YAML(o RecordOptions) ([]byte, error) {
	taken := r.exchanges()
	clean := scrub(taken, o.Masks)
	d := &Description{World: Open, Target: o.Wanted}
	d.Target.User, d.Target.InstallPath = clean(d.Target.User), clean(d.Target.InstallPath)
	d.Target.RankTable, d.Target.Image = clean(d.Target.RankTable), clean(d.Target.Image)
	d.Target.Peers = slices.Clone(d.Target.Peers)
	for i := range d.Target.Peers {
		d.Target.Peers[i] = clean(d.Target.Peers[i])
	}
	for _, x := range taken {
		d.project(x)
	}
	d.title(o, r.Host)
	// What the sections cannot hold as it came is kept beside them. It is
	// looked for in what will be read, so that nothing depends on how YAML
	// writes a text.
	for pass := range 2 {
		data, err := d.marshal()
		if err != nil {
			return nil, err
		}
		wrong, err := d.misses(data, taken)
		if err != nil || len(wrong) == 0 {
			return data, err
		}
		if pass == 1 {
			return nil, fmt.Errorf("recording: %s does not replay as it was answered", questionLine(wrong[0].q))
		}
		for _, x := range wrong {
			if d.Answers == nil {
				d.Answers = map[string]ExactAnswer{}
			}
			e := exact(x.a.Result)
			e.WallMS = wallMS(x)
			d.Answers[questionLine(x.q)] = e
		}
	}
	return nil, errors.New("recording: not reached")
}

func (r *Recorder) exchanges() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := make([]exchange, len(r.order))
	for i, line := range r.order {
		x := r.taken[line]
		x.q.Args, x.q.Env = slices.Clone(x.q.Args), slices.Clone(x.q.Env)
		taken[i] = x
	}
	return taken
}

// misses gives the exchanges that the text would answer otherwise.
func (d *Description) misses(data []byte, taken []exchange) ([]exchange, error) {
	back, err := LoadDescription("recording", data)
	if err != nil {
		return nil, err
	}
	h := Replay("recording", back).(*replay)
	var wrong []exchange
	for _, x := range taken {
		if !sameAnswer(x.q, x.a, h.answer(x.q)) {
			wrong = append(wrong, x)
		}
	}
	return wrong, nil
}

// sameAnswer compares what a caller can rely on: for typed questions the
// normal form, whose lines have an order only where the kind gives one.
func sameAnswer(q Question, a, b Answer) bool {
	switch {
	case a.State != b.State:
		return false
	case a.State == Unknown:
		return errText(a.Err) == errText(b.Err) || errors.Is(a.Err, ErrNotRecorded) && errors.Is(b.Err, ErrNotRecorded)
	case a.State == Absent:
		return true
	case q.Kind == Exec:
		return a.Exit == b.Exit && bytes.Equal(a.Stdout, b.Stdout) && bytes.Equal(a.Stderr, b.Stderr)
	case q.Kind == Env:
		return bytes.Equal(sortedParts(a.Stdout, "\x00"), sortedParts(b.Stdout, "\x00"))
	case q.Kind == Packages || q.Kind == Tools || q.Kind == Nodes || q.Kind == PCI || q.Kind == Reach || q.Kind == Procs || q.Kind == Ports:
		return bytes.Equal(sortedParts(a.Stdout, "\n"), sortedParts(b.Stdout, "\n"))
	}
	return bytes.Equal(a.Stdout, b.Stdout)
}

func sortedParts(data []byte, sep string) []byte {
	parts := strings.Split(strings.TrimSuffix(string(data), sep), sep)
	slices.Sort(parts)
	return []byte(strings.Join(parts, sep))
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return strings.ToValidUTF8(err.Error(), "?")
}

// title says who was asked, by what and when.
func (d *Description) title(o RecordOptions, h Host) {
	d.ID = "host"
	if n := d.Facts.Hostname; n != nil && n.Name != "" {
		d.ID = n.Name
	}
	d.Title = "recording of " + d.ID
	from, masks := "a live host", "replaced by pseudonyms"
	if strings.HasPrefix(h.String(), "replay:") {
		from = "another recording"
	}
	if o.Masks == nil {
		masks = "kept"
	}
	d.Provenance = fmt.Sprintf("recorded by %s from %s, identifiers %s", cmp.Or(o.Tool, "ascendctl"), from, masks)
	if !o.Now.IsZero() {
		d.Provenance += ", " + o.Now.UTC().Format(time.RFC3339)
	}
	if id := d.Facts.Identity; id != nil {
		d.Login.User = id.User
	}
}

const recordingHead = "# A recording: what a host answered, by question. What is not listed was not asked.\n" +
	"# Read it before it leaves your hands; format and masking: docs/recording.md.\n"

func (d *Description) marshal() ([]byte, error) {
	data, err := yamlOf(d)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if data = append([]byte(recordingHead), data...); len(data) > maxDescription {
		return nil, fmt.Errorf("recording: %d bytes, a description may have %d", len(data), maxDescription)
	}
	return data, nil
}

// project writes one answer into the section of its kind.
func (d *Description) project(x exchange) {
	line := questionLine(x.q)
	switch {
	case x.a.State == Absent && x.q.Kind == Exec && len(x.q.Args) > 0:
		d.addAbsent(questionLine(Question{Kind: Exec, Args: x.q.Args[:1], Root: x.q.Root}))
	case x.a.State == Absent:
		d.addAbsent(line)
	case x.a.State == Unknown && !errors.Is(x.a.Err, ErrNotRecorded):
		put(&d.Unknown, line, cmp.Or(errText(x.a.Err), "no reason was given"))
	case x.a.State != Known || !isText([]byte(line)) || strings.HasPrefix(line, `"`):
		// What has no plain name has no place in the sections.
	case x.q.Kind == Exec:
		d.projectCommand(x)
	case isText(bytes.ReplaceAll(x.a.Stdout, []byte{0}, []byte{' '})):
		d.Login.Sudo = d.Login.Sudo || x.q.Root
		d.projectKnown(x.q, string(x.a.Stdout))
	}
}

func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}

func (d *Description) addAbsent(line string) {
	if !slices.Contains(d.Absent, line) {
		d.Absent = append(d.Absent, line)
	}
}

// projectCommand writes the command as a person would type it.
func (d *Description) projectCommand(x exchange) {
	r := x.a.Result
	if !isText(r.Stdout) || !isText(r.Stderr) || r.Exit < 0 || r.Exit > 255 {
		return
	}
	var words []string
	if x.q.Root {
		d.Login.Sudo = true
		words = append(words, "sudo", "-n")
	}
	if len(x.q.Env) > 0 {
		words = append(append(words, "env"), x.q.Env...)
	}
	words = append(words, x.q.Args...)
	put(&d.Commands, lineOfWords(words), Output{Stdout: string(r.Stdout), Stderr: string(r.Stderr), Exit: r.Exit, WallMS: wallMS(x)})
}

// wallMS is how long a command took. One that answered did so within its time
// limit, whatever the clocks add.
func wallMS(x exchange) int { return int(min(x.a.Took, x.q.limit()).Milliseconds()) }

// projectKnown writes the normal form of a kind as plain values. A form it
// cannot read is left out: then it is kept as it came.
func (d *Description) projectKnown(q Question, text string) {
	one := ""
	if len(q.Args) > 0 {
		one = q.Args[0]
	}
	if slices.Contains([]Kind{File, Glob, Link, Stat}, q.Kind) && slices.ContainsFunc(q.Args, func(p string) bool { return !path.IsAbs(p) }) {
		return
	}
	f := &d.Facts
	switch q.Kind {
	case File:
		put(&d.Files, one, text)
	case Glob:
		put(&d.Globs, one, append([]string{}, lines(text)...))
	case Link:
		put(&d.Links, one, strings.TrimSuffix(text, "\n"))
	case Stat:
		d.projectStat(q, text)
	case Nodes:
		d.projectNodes(text)
	case Env:
		d.projectEnv(one, text)
	case Disk:
		f.projectDisk(one, text)
	case Identity:
		f.projectIdentity(text)
	case Limits:
		kv := keyValues(text)
		f.Ulimits = &Ulimits{Nofile: kv["nofile"], MemlockKB: kv["memlock_kb"], Core: kv["core"]}
	case Tools:
		f.projectTools(q.Args, text)
	default:
		f.projectTyped(q, text)
	}
}

func (f *PlainFacts) projectTyped(q Question, text string) {
	kv := keyValues(text)
	switch q.Kind {
	case PCI:
		f.projectPCI(text)
	case Packages:
		f.PythonPackages = map[string]string{}
		for _, w := range fieldsOfLines(text, 2) {
			f.PythonPackages[w[0]] = w[1]
		}
	case Python:
		f.Python, f.PythonPath = kv["version"], kv["path"]
		for _, module := range q.Args {
			if there, err := strconv.ParseBool(kv[module]); err == nil {
				put(&f.PythonStdlib, module, there)
			}
		}
	case Hostname:
		f.Hostname = &HostNames{Name: kv["name"]}
		if addresses, ok := kv["resolves"]; ok {
			f.Hostname.Resolves = splitList(addresses)
		}
	case Clock:
		f.Clock = kv["unix"]
	case Boot:
		if sec, err := strconv.ParseInt(kv["boot"], 10, 64); err == nil {
			f.BootTime = &Time{time.Unix(sec, 0).UTC()}
		}
	case Ports:
		f.projectPorts(text)
	case Locks:
		f.PkgLock = Lines{"free"}
		if text != "" {
			f.PkgLock = lines(text)
		}
	case Shells:
		f.Shells = kv
	case Procs:
		for line := range strings.Lines(text) {
			if pid, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
				put(&f.Procs, pid, rest)
			}
		}
	case Reach:
		for _, w := range fieldsOfLines(text, 2) {
			put(&f.Reachable, w[0], Reached(w[1]))
		}
	case Sandbox:
		f.Sandbox, f.Virt, f.Container = kv["kind"], kv["virt"], kv["container"]
	case TorchABI:
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			f.TorchABI = &n
		}
	}
}
