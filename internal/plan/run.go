package plan

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// State is where a change stands.
type State string

const (
	Open    State = "open" // of a journal: begun, neither done nor undone
	Done    State = "done"
	Nothing State = "nothing" // all was done already
	Restart State = "reboot"  // goes on after the host has restarted, by the same command
	Lost    State = "lost"    // the connection went; goes on by the same command
	Undone  State = "undone"
	Stuck   State = "stuck"    // failed, and not all is taken back
	NotDone State = "not-done" // of a fleet: an earlier host failed
)

// Outcome is what a run left behind.
type Outcome struct {
	ID     string        `json:"id,omitempty"` // of the journal, for undo
	State  State         `json:"state"`
	Failed string        `json:"failed,omitempty"` // step
	Left   []Left        `json:"left,omitempty"`   // what undo did not take back
	Keeps  []report.Text `json:"keeps,omitempty"`  // what undo leaves by intention
	Took   time.Duration `json:"-"`
}

// run is one run of a plan.
type run struct {
	made  *Made
	site  *site
	o     Options
	id    string // of the journal
	token string // of the lock
	e     *Entry
	n     int  // of the act
	step  Step // that runs
	at    int  // its number among those to do
	of    int
}

// Run does what Show shows, as far as it is not done. Errors are problems: exit
// 5 when the host was lost (the same command goes on), 6 without consent, 7
// when it failed and all was taken back, 8 when not all was, 130 when it was
// cancelled and taken back.
func (m *Made) Run(ctx context.Context) (Outcome, error) {
	began := m.o.Now()
	if !m.agreed {
		return Outcome{State: Nothing}, Consent{}.ask(ctx, nil, "", m.risks(), []*Made{m})
	}
	if !m.changes() && m.site.open == nil {
		return Outcome{State: Nothing}, nil
	}
	if err := m.sources(ctx); err != nil {
		return Outcome{State: Nothing}, err
	}
	x := &run{made: m, site: m.site, o: m.o, token: rand.Text()}
	out, err := x.whole(ctx)
	out.Took = m.o.Now().Sub(began)
	return out, err
}

func (x *run) whole(ctx context.Context) (Outcome, error) {
	if err := x.lock(ctx); err != nil {
		return Outcome{State: Nothing}, x.problem(err)
	}
	err := x.begins(ctx)
	if err != nil {
		x.unlock(ctx)
		return Outcome{State: Nothing}, x.problem(err)
	}
	if x.made.undoes != "" {
		return x.close(ctx, "", x.takeBackAll(ctx), nil)
	}
	err = x.steps(ctx)
	switch {
	case err == nil:
		if err = x.end(ctx, Done); err == nil {
			x.unlock(ctx)
			return Outcome{ID: x.id, State: Done}, nil
		}
	case errors.Is(err, errReboot):
		x.unlock(ctx)
		return Outcome{ID: x.id, State: Restart}, nil
	}
	out := Outcome{ID: x.id, State: Lost, Failed: x.step.ID}
	if errors.Is(err, host.ErrUnreachable) {
		return out, x.lost(err)
	}
	if errors.Is(err, errLost) {
		out.State = Stuck
		return out, x.stuck(err, nil)
	}
	// The Ctrl-C that caused it must not interrupt it as well.
	calm := context.WithoutCancel(ctx)
	return x.close(calm, out.Failed, x.takeBackAll(calm), err)
}

// begins looks again, now that nobody else can change anything: what was shown
// as kept must still be so.
func (x *run) begins(ctx context.Context) error {
	m := x.made
	fresh, err := visit(ctx, m.site.h, x.site.root, m.o)
	if err != nil {
		return err
	}
	if m.undoes != "" {
		x.id = m.undoes
		for _, e := range fresh.all {
			if e.ID == x.id {
				x.e, fresh.open = e, e
			}
		}
		x.site, m.site = fresh, fresh
		if x.e == nil || x.e.Acts == 0 {
			return x.changed(x.id)
		}
		return nil
	}
	if err := fresh.goOn(m.plan.Name); err != nil {
		return err
	}
	x.site, m.site = fresh, fresh
	kept, err := m.look(ctx)
	if err != nil {
		return err
	}
	for i, was := range m.kept {
		if was && !kept[i] {
			return x.changed(m.steps[i].ID)
		}
	}
	m.kept = kept
	return x.openJournal(ctx)
}

func (x *run) openJournal(ctx context.Context) error {
	if e := x.site.open; e != nil {
		x.id, x.e = e.ID, e
		return nil
	}
	now := x.o.Now().UTC()
	x.id = now.Format("20060102T150405Z")
	for n := 2; slices.ContainsFunc(x.site.all, func(e *Entry) bool { return e.ID == x.id }); n++ {
		x.id = now.Format("20060102T150405Z") + "-" + strconv.Itoa(n)
	}
	p := x.made.plan
	x.e = &Entry{ID: x.id, State: Open}
	x.site.open = x.e
	return x.write(ctx, "append", record{Event: "open", Head: &head{p.Name, p.Title, p.Again, x.o.Who, x.site.root}})
}

// steps runs what is not done.
func (x *run) steps(ctx context.Context) error {
	x.of = 0
	for _, k := range x.made.kept {
		x.of += count(!k)
	}
	for i, s := range x.made.steps {
		x.step = s
		if x.made.kept[i] {
			x.tell(Event{Is: Found})
			continue
		}
		x.at++
		began := x.o.Now()
		x.tell(Event{Is: Started})
		if err := x.oneStep(ctx, s); err != nil {
			if !errors.Is(err, errReboot) {
				x.tell(Event{Is: Failed, Why: x.o.Redact.String(err.Error()), Took: x.o.Now().Sub(began)})
			}
			return err
		}
		x.tell(Event{Is: Finished, Took: x.o.Now().Sub(began)})
	}
	return nil
}

func (x *run) oneStep(ctx context.Context, s Step) error {
	h := x.made.host(s)
	ready, err := x.ready(ctx, s, h)
	if err != nil {
		return err
	}
	for i, a := range s.Do {
		if err := x.act(ctx, s, a, h, ready[i]); err != nil {
			return err
		}
	}
	verify := s.Verify
	if verify == nil {
		forget, err := x.site.glance(ctx, s)
		defer forget()
		if err != nil {
			return err
		}
		verify = func(ctx context.Context, _ host.Host) (bool, error) { return x.made.done(ctx, s) }
	}
	ok, err := verify(ctx, h)
	if err == nil && !ok {
		err = errors.New("it ran, but looking at the host afterwards says that it is not done")
	}
	return err
}

// ready says which acts of a step are done already.
func (x *run) ready(ctx context.Context, s Step, h host.Host) ([]bool, error) {
	forget, err := x.site.glance(ctx, s)
	defer forget()
	ready := make([]bool, len(s.Do))
	x.site.now = s.ID
	for i, a := range s.Do {
		if err == nil && !follows(a) {
			ready[i], err = a.done(ctx, x.site, h)
		}
	}
	return ready, err
}

// act does one act unless it is done and the journal knows how it left things.
func (x *run) act(ctx context.Context, s Step, a Act, h host.Host, ok bool) error {
	d := x.e.of(s.ID, a.key())
	if ok && (d == nil || d.done) {
		return nil
	}
	if c, is := a.(Command); ok && is && c.Long { // a job that is still there was not seen to its end
		j, err := jobOf(ctx, h, x.id+" "+a.key())
		if err != nil {
			return err
		}
		ok = j == nil
	}
	deed := deeds(s, a)
	r := record{Event: "begin", N: len(x.e.acts) + 1, Act: deed, Boot: x.site.boot}
	if d != nil {
		r = record{Event: "again", N: d.n, Boot: x.site.boot}
	}
	if ok {
		r.Boot = "" // that of the first try is what a reboot is measured by
	}
	x.n = r.N
	if err := x.write(ctx, "begin", r, deed.args(x.n)...); err != nil {
		return err
	}
	if err := x.hit("before do", a); err != nil {
		return err
	}
	if !ok {
		if err := a.do(ctx, x, h); err != nil {
			return err
		}
	}
	if err := x.hit("after do", a); err != nil {
		return err
	}
	return x.write(ctx, "finish", record{Event: "done", N: x.n}, deed.args(x.n)...)
}

// args are the triples how, slot, path for the shell part.
func (d *deed) args(n int) (out []string) {
	for i, t := range d.Touch {
		out = append(out, t.How, slot(n, i), t.Path)
	}
	return out
}

func slot(n, i int) string { return fmt.Sprintf("%d.%d", n, i) }

func (x *run) slot(i int) string { return slot(x.n, i) }

func (x *run) folder() string { return x.site.dir + "/" + x.id }

func (x *run) hit(where string, a Act) error {
	p := point{where: where, step: x.step.ID}
	if a != nil {
		p.act = a.key()
	}
	return x.o.hook(p)
}

// write puts one line into the journal on the host, through append or a
// function that ends or starts with it, and folds it into the entry.
func (x *run) write(ctx context.Context, fn string, r record, args ...string) error {
	r.V, r.Time = version, x.o.Now().UTC()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if err := x.hit("before "+r.Event, nil); err != nil {
		return err
	}
	args = append([]string{x.site.dir, x.id, x.token, strconv.Itoa(len(line))}, args...)
	if _, err := call(ctx, x.site.journal, strings.NewReader(string(line)), fn, args...); err != nil {
		return err
	}
	if why := x.e.add(r); why != "" {
		return errors.New("journal: " + why)
	}
	return x.hit("after "+r.Event, nil)
}

func (x *run) end(ctx context.Context, s State) error {
	x.step = Step{}
	return x.write(ctx, "append", record{Event: "end", State: s})
}

// patience is how long a lock may still be held by a connection that is dying.
const patience = 10

func (x *run) lock(ctx context.Context) error {
	if err := x.hit("before lock", nil); err != nil {
		return err
	}
	who := strings.Join(strings.Fields(x.o.Who+" "+x.made.plan.Name), " ")
	for try := 1; ; try++ {
		out, err := call(ctx, x.site.journal, nil, "lock", x.site.dir, x.token, x.o.owner, who)
		out = strings.TrimSpace(out)
		switch {
		case err == nil:
			if out != "" {
				x.tell(Event{Is: Taken, Why: out})
			}
			return x.hit("after lock", nil)
		case !errors.Is(err, errHeld):
			return err
		case try == patience:
			return x.heldBy(out)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(x.o.Poll, 300*time.Millisecond)):
		}
	}
}

func (x *run) heldBy(out string) error {
	pid, who, _ := strings.Cut(out, " ")
	return &report.Problem{
		What: report.T("%s is being changed by somebody else", "%s 正被他人变更", x.site.h.String()),
		Why:  report.T("%s holds the lock, process %s on the host", "%s 持有锁，主机上的进程为 %s", report.Same(cmp.Or(strings.TrimSpace(who), "?")), pid),
		Do:   report.T("wait for it; if its run is gone, end that process on the host", "等待其结束；若对应的运行已不存在，可在主机上结束该进程"),
		Exit: report.ExitFailed, Err: errHeld,
	}
}

// unlock is a courtesy: a lock whose process is gone is taken over.
func (x *run) unlock(ctx context.Context) {
	_, _ = call(context.WithoutCancel(ctx), x.site.journal, nil, "unlock", x.site.dir, x.token)
}

func (x *run) tell(e Event) {
	e.Host, e.N, e.Of = x.site.h.String(), x.at, x.of
	if e.Step == "" {
		e.Step, e.Title = x.step.ID, x.step.Title
	}
	x.o.Tell(e)
}

// progress says how far an upload is, in bytes.
func (x *run) progress(u Upload) func(int64) {
	return func(n int64) { x.tell(Event{Is: Waiting, Act: u.key(), Sent: n, Size: u.Size}) }
}
