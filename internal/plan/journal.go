package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// record is one line of a journal.
type record struct {
	V     int       `json:"v"`
	Time  time.Time `json:"time"`
	Event string    `json:"event"` // open, begin, again, done, undone, left, end
	N     int       `json:"n,omitempty"`
	Head  *head     `json:"head,omitempty"`
	Act   *deed     `json:"act,omitempty"`
	Path  string    `json:"path,omitempty"`
	Why   string    `json:"why,omitempty"`
	State State     `json:"state,omitempty"` // of end
	Boot  string    `json:"boot,omitempty"`
}

const version = 1

// head is how a journal starts.
type head struct {
	Name  string      `json:"name"`
	Title report.Text `json:"title"`
	Again string      `json:"again,omitempty"`
	Who   string      `json:"who,omitempty"`
	Root  bool        `json:"root"`
}

// deed is an act as undo needs it; undo knows nothing else about it.
type deed struct {
	Step  string      `json:"step"`
	Title report.Text `json:"title"`
	Key   string      `json:"key"`
	Touch []touched   `json:"touch,omitempty"`
	Undo  []string    `json:"undo,omitempty"`
	Root  bool        `json:"root,omitempty"`
	Long  bool        `json:"detached,omitempty"`
	Keeps report.Text `json:"keeps,omitzero"`
}

// touched is a path and how it comes back: path (whole), shared (whole, if
// nobody else wrote it), dir (its own attributes), gone (moved), tree (a list).
type touched struct {
	How  string `json:"how"`
	Path string `json:"path"`
	Line string `json:"line,omitempty"`
}

func deeds(s Step, a Act) *deed {
	d := &deed{Step: s.ID, Title: s.Title, Key: a.key(), Root: s.Root, Keeps: s.Keeps}
	for _, t := range a.touches() {
		how := cmp.Or(t.how, "path")
		switch {
		case t.Tree:
			how = "tree"
		case t.Shared:
			how = "shared"
		}
		d.Touch = append(d.Touch, touched{how, t.Path, t.line})
	}
	if c, ok := a.(Command); ok {
		d.Undo, d.Long = c.Undo, c.Long
	}
	return d
}

// Entry is a change of a host as its journal tells it.
type Entry struct {
	ID    string      `json:"id"`
	Name  string      `json:"name"`
	Title report.Text `json:"title"`
	Again string      `json:"again,omitempty"`
	Who   string      `json:"who,omitempty"`
	Began time.Time   `json:"began"`
	State State       `json:"state"`          // open, done, undone, stuck
	Acts  int         `json:"acts"`           // begun and not taken back
	Left  []Left      `json:"left,omitempty"` // what undo could not take back

	root bool
	acts []*did
}

// did is a deed and how far it is.
type did struct {
	deed
	n            int
	done, undone bool
	Boot         string
}

// Left is something undo did not take back.
type Left struct {
	Step string `json:"step"`
	Path string `json:"path,omitempty"`
	Why  string `json:"why"`
}

// of finds the deed of a step by its key, unless it was taken back.
func (e *Entry) of(step, key string) *did {
	if e == nil {
		return nil
	}
	for _, d := range e.acts {
		if d.Step == step && d.Key == key && !d.undone {
			return d
		}
	}
	return nil
}

// broken is true for an entry that the plan of its name goes on with.
func (e *Entry) broken() bool { return e.State == Open || e.State == Stuck }

// parse reads what where printed: "# ID" heads, then the lines of each journal.
func parse(text string) ([]*Entry, error) {
	var all []*Entry
	var e *Entry
	line := 0
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if id, ok := strings.CutPrefix(l, "# "); ok {
			e, line = &Entry{ID: id, State: Open}, 0
			all = append(all, e)
			continue
		}
		if e == nil {
			return nil, fmt.Errorf("a journal line before any journal: %.80q", l)
		}
		line++
		var r record
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			return nil, unreadable(e.ID, line, err.Error())
		}
		if why := e.add(r); why != "" {
			return nil, unreadable(e.ID, line, why)
		}
	}
	return slices.DeleteFunc(all, func(e *Entry) bool { return e.Name == "" }), nil
}

func unreadable(id string, line int, why string) error {
	return &report.Problem{
		What: report.T("cannot read the journal %s on the host, line %d", "无法读取主机上的变更日志 %s 第 %d 行", id, line),
		Why:  report.Same(why),
		Do: report.T("a newer ascendctl may have written it: use that one; else move its folder away, and with it the way back",
			"可能由更新版本的 ascendctl 写入：改用该版本；否则可移走其目录，但移走后无法再撤销"),
		Exit: report.ExitFailed,
	}
}

// add folds one line into the entry and says why it cannot.
func (e *Entry) add(r record) string {
	switch {
	case r.V != version:
		return fmt.Sprintf("its version is %d, this ascendctl reads %d", r.V, version)
	case r.Event == "open" && r.Head != nil && r.Head.Name != "" && e.Name == "":
		h := r.Head
		e.Name, e.Title, e.Again, e.Who, e.root, e.Began = h.Name, h.Title, h.Again, h.Who, h.Root, r.Time
		return ""
	case e.Name == "":
		return "it does not start with an open line"
	case r.Event == "begin" && r.Act != nil && r.N == len(e.acts)+1:
		e.acts = append(e.acts, &did{deed: *r.Act, n: r.N, Boot: r.Boot})
		e.Acts, e.State = e.Acts+1, Open
		return ""
	case r.Event == "end" && r.State != "":
		e.State = r.State
		return ""
	}
	if r.N < 1 || r.N > len(e.acts) {
		return fmt.Sprintf("%q names act %d of %d", r.Event, r.N, len(e.acts))
	}
	d := e.acts[r.N-1]
	switch r.Event {
	case "again": // a second try
		d.done, e.State = false, Open
		d.Boot = cmp.Or(r.Boot, d.Boot)
	case "done":
		d.done = true
	case "undone":
		e.Acts -= count(!d.undone)
		d.done, d.undone = false, true
	case "left":
		e.Left = append(e.Left, Left{d.Step, r.Path, r.Why})
	default:
		return fmt.Sprintf("an event %.40q", r.Event)
	}
	return ""
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// site is a host as a plan sees it.
type site struct {
	h       host.Host // as the login
	journal host.Host // with the rights its journals need
	root    bool
	dir     string
	boot    string
	all     []*Entry // oldest first
	open    *Entry   // the one to go on with, or to take back
	now     string   // the step that is looked at
	seen    map[string]state
}

// visit looks at the journals of a host.
func visit(ctx context.Context, h host.Host, root bool, o Options) (*site, error) {
	s := &site{h: h, journal: h, root: root}
	if root {
		s.journal = rooted{h}
	}
	out, err := call(ctx, s.journal, nil, "where", o.Dir)
	if err != nil {
		return nil, err
	}
	head := strings.SplitN(out, "\n", 4)
	if len(head) != 4 || !strings.HasPrefix(head[0], "/") {
		return nil, fmt.Errorf("%s: cannot read where journals are: %.80q", h, out)
	}
	s.dir, s.boot = head[0], head[1]
	if missing := strings.TrimSpace(head[2]); missing != "" {
		return nil, &report.Problem{
			What: report.T("%s cannot be changed safely", "无法安全变更 %s", h.String()),
			Why:  report.T("programs are missing on it: %s", "主机上缺少程序：%s", missing),
			Do:   report.T("install coreutils, findutils and util-linux", "安装 coreutils、findutils 和 util-linux"),
			Exit: report.ExitFailed,
		}
	}
	s.all, err = parse(head[3])
	slices.SortStableFunc(s.all, func(a, b *Entry) int { return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.ID, b.ID)) })
	return s, err
}

// List gives the changes of a host that have a journal, oldest first. root asks
// for those made with root rights; the others are the login's own.
func List(ctx context.Context, h host.Host, root bool, o Options) ([]*Entry, error) {
	s, err := visit(ctx, h, root, o.filled())
	if err != nil {
		return nil, err
	}
	return s.all, nil
}
