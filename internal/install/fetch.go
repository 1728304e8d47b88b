package install

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Item is one file that an installation needs, made from a row of the data.
type Item struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"` // file name
	URL     string   `json:"url,omitempty"`
	Size    int64    `json:"size,omitempty"`    // bytes; 0: the data does not know
	SHA256  string   `json:"sha256,omitempty"`  // "": the data does not know
	Referer string   `json:"referer,omitempty"` // header without which the server refuses
	Page    string   `json:"page,omitempty"`    // behind a login, where there is no address of the file
	Other   []string `json:"other,omitempty"`   // names of the same content in --from: the bare .run, the zip around it
	Parts   []string `json:"parts,omitempty"`   // patterns of path.Match: the files wanted from inside, where it is a zip
}

// Got is a file that is here and whole.
type Got struct {
	io.ReaderAt `json:"-"`
	Item        string `json:"item"` // ID of its item; of a wheel: its distribution
	Name        string `json:"name"`
	Kind        string `json:"kind"` // package, wheel
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"` // always known now
	Verified    bool   `json:"verified"`
	// From tells people where it came from: an address without secrets, a path.
	From string `json:"from"`
}

// Sum makes a Got a host.Summed: it is read once, not once for every host.
func (g *Got) Sum() string { return g.SHA256 }

// Kinds of files.
const (
	KindPackage = "package"
	KindWheel   = "wheel"
)

// Tool is one run of a program of this machine.
type Tool struct {
	Argv []string // Argv[0] is a path
	Dir  string
	Env  []string // on top of this machine's own
}

// Fetcher brings files to this machine, once for all hosts. Cache must be
// given; Exec and LookPath for wheels. It is safe for one caller at a time.
type Fetcher struct {
	Cache string // our cache folder
	From  string // "" = where the rows say; a folder, a bundle, or the address of a mirror's folder
	Index string // --index-url of pip; "" = as pip is configured

	Env      func(name string) string // variables of this process; nil: none
	Exec     func(ctx context.Context, t Tool) (out []byte, exit int, err error)
	LookPath func(name string) (string, error)
	Free     func(dir string) (int64, error) // bytes; nil: asks the system
	Wait     func(ctx context.Context, d time.Duration) error
	Stall    time.Duration // a server silent for so long is asked again; 0: a minute

	Progress func(id string, note report.Text, done, total int64) // bytes; called from several goroutines
	Log      *slog.Logger
	Redact   *report.Redactor

	begun    bool
	shelf    shelf   // From, where it is a folder or a bundle
	via      proxies // how addresses are reached
	mu       sync.Mutex
	reserved int64
	closers  []io.Closer
}

// shelf is a place on this machine that has files by name.
type shelf interface {
	find(name string) (*Got, error) // nil: it has none
	names() []string
	String() string
}

// begin completes the options; every public verb calls it.
func (f *Fetcher) begin(ctx context.Context) error {
	if f.begun {
		return nil
	}
	if f.Log == nil {
		f.Log = slog.New(slog.DiscardHandler)
	}
	if f.Redact == nil {
		f.Redact = &report.Redactor{}
	}
	if f.Progress == nil {
		f.Progress = func(string, report.Text, int64, int64) {}
	}
	if f.Env == nil {
		f.Env = func(string) string { return "" }
	}
	if f.Free == nil {
		f.Free = diskFree
	}
	if f.Wait == nil {
		f.Wait = pause
	}
	f.Stall = cmp.Or(f.Stall, time.Minute)
	f.secret(f.From)
	f.secret(f.Index)
	via, err := proxiesOf(f.Env)
	for _, p := range via.addresses() {
		f.secret(p)
	}
	if err != nil {
		return err
	}
	f.via = via
	if f.shelf, err = f.open(ctx); err != nil {
		return err
	}
	f.begun = true
	return nil
}

// Close gives back the files that Get, Wheels and From have opened.
func (f *Fetcher) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []error
	for _, c := range f.closers {
		all = append(all, c.Close())
	}
	f.closers = nil
	return errors.Join(all...)
}

func (f *Fetcher) keep(c io.Closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closers = append(f.closers, c)
}

// parallel: more connections do not make one slow link faster.
const parallel = 2

// Get brings the files of items and gives them in that order; a zip with Parts
// gives one file per part. What is in the cache and right is not brought
// again. Every error is a *report.Problem.
func (f *Fetcher) Get(ctx context.Context, items []Item) ([]*Got, error) {
	return f.get(ctx, items, f.parts)
}

// get leaves a zip with Parts to open.
func (f *Fetcher) get(ctx context.Context, items []Item, open func(context.Context, Item, *Got) ([]*Got, error)) ([]*Got, error) {
	if err := f.begin(ctx); err != nil {
		return nil, f.problem(ctx, err)
	}
	for _, it := range items {
		if err := it.check(); err != nil {
			return nil, err
		}
		f.secret(it.URL)
	}
	if err := f.ready(items); err != nil {
		return nil, err
	}
	got := make([][]*Got, len(items))
	all, inner := errgroup.WithContext(ctx)
	all.SetLimit(parallel)
	for i, it := range items {
		all.Go(func() (err error) {
			got[i], err = f.one(inner, it, open)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, f.problem(ctx, err)
	}
	return slices.Concat(got...), nil
}

func (f *Fetcher) one(ctx context.Context, it Item, open func(context.Context, Item, *Got) ([]*Got, error)) ([]*Got, error) {
	whole, parts, err := f.whole(ctx, it)
	if err != nil || parts != nil {
		return parts, err
	}
	if len(it.Parts) == 0 || !strings.HasSuffix(whole.Name, ".zip") {
		return []*Got{whole}, nil
	}
	return open(ctx, it, whole)
}

// whole gives the file of an item, or at once its parts where a folder holds
// those instead: people often have the installer and not the zip around it.
func (f *Fetcher) whole(ctx context.Context, it Item) (whole *Got, parts []*Got, err error) {
	if f.shelf == nil {
		whole, err = f.load(ctx, it)
		return whole, nil, err
	}
	g, it, err := f.shelved(it)
	if err != nil {
		return nil, nil, err
	}
	if g != nil {
		return g, nil, f.measure(ctx, it, g)
	}
	if parts, err = f.loose(ctx, it); err != nil || parts != nil {
		return nil, parts, err
	}
	return nil, nil, f.missing([]Item{it})
}

// shelved finds an item on the shelf by its name, then by its other ones; of
// those the data knows neither digest nor size.
func (f *Fetcher) shelved(it Item) (*Got, Item, error) {
	for i, name := range append([]string{it.Name}, it.Other...) {
		if g, err := f.shelf.find(name); g != nil || err != nil {
			if i > 0 {
				it.Name, it.Size, it.SHA256 = name, 0, ""
			}
			return g, it, err
		}
	}
	return nil, it, nil
}

// loose looks on the shelf for the parts of an item by their patterns; all or
// none. The data knows no digest of theirs.
func (f *Fetcher) loose(ctx context.Context, it Item) ([]*Got, error) {
	var out []*Got
	for _, pattern := range it.Parts {
		name, err := onlyOne(it, pattern, f.shelf.names())
		if err != nil || name == "" {
			return nil, err
		}
		g, err := f.shelf.find(name)
		if err != nil {
			return nil, err
		}
		if err := f.measure(ctx, Item{ID: it.ID, Name: name}, g); err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// measure fills in the digest of g and holds it against the item's.
func (f *Fetcher) measure(ctx context.Context, it Item, g *Got) error {
	g.Item = it.ID
	if it.Size > 0 && g.Size != it.Size {
		return f.mismatch(it, g.From, sizeText(it.Size), sizeText(g.Size))
	}
	if it.SHA256 == "" && strings.HasSuffix(g.Name, ".run") {
		if err := f.wholeRun(ctx, it, g); err != nil {
			return err
		}
	}
	if g.SHA256 == "" {
		sum, err := f.sum(ctx, it.ID, g.Name, g, g.Size)
		if err != nil {
			return err
		}
		g.SHA256 = sum
	}
	if it.SHA256 != "" && g.SHA256 != it.SHA256 {
		return f.mismatch(it, g.From, report.Same("sha256 "+it.SHA256), report.Same("sha256 "+g.SHA256))
	}
	g.Verified = g.Verified || it.SHA256 != ""
	return nil
}

// wholeRun holds an installer of which no list has a digest against what it says
// of itself: whoever made it may still be anybody, but half a download is found
// before a host is changed.
func (f *Fetcher) wholeRun(ctx context.Context, it Item, g *Got) error {
	self := readRun(g, g.Size)
	if g.Size < self.size() {
		return f.mismatch(it, g.From, sizeText(self.size()), sizeText(g.Size))
	}
	name, want, h := self.sum()
	if want == "" {
		return nil
	}
	note := report.T("verifying %s", "正在校验 %s", g.Name)
	if _, err := copyTelling(ctx, h, io.NewSectionReader(g, self.at, self.packed), func(at int64) { f.Progress(it.ID, note, at, self.packed) }); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return f.mismatch(it, g.From, report.Same(name+" "+want), report.Same(name+" "+got))
	}
	return nil
}

// folder is where the cache keeps a file: one name can mean two files.
func (f *Fetcher) folder(it Item) string {
	key := "unverified"
	if it.SHA256 != "" {
		key = it.SHA256[:16]
	}
	return filepath.Join(f.Cache, "packages", key)
}

// load gives the file from the cache, or downloads it into the cache.
func (f *Fetcher) load(ctx context.Context, it Item) (*Got, error) {
	name := filepath.Join(f.folder(it), it.Name)
	g, err := f.file(name, f.shown(f.address(it)))
	if err == nil {
		if err = f.measure(ctx, it, g); err == nil {
			return g, nil
		}
		f.Log.Warn("file in the cache is not used", "file", name, "err", err)
		if ctx.Err() == nil {
			err = os.Remove(name)
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	if err := f.download(ctx, it, name); err != nil {
		return nil, err
	}
	if g, err = f.file(name, f.shown(f.address(it))); err != nil {
		return nil, err
	}
	return g, f.measure(ctx, it, g)
}

// file gives a file of this machine.
func (f *Fetcher) file(name, from string) (*Got, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: name, Err: errors.New("not a file")}
	}
	if err != nil {
		return nil, err
	}
	kind := KindPackage
	if strings.HasSuffix(name, ".whl") {
		kind = KindWheel
	}
	return &Got{ReaderAt: &lazyFile{name: name, keep: f.keep}, Name: filepath.Base(name), Kind: kind, Size: info.Size(), From: from}, nil
}

// lazyFile is opened when it is first read, and stays open until Close: a
// folder can have more files than a process may open.
type lazyFile struct {
	name string
	keep func(io.Closer)
	once sync.Once
	file *os.File
	err  error
}

func (l *lazyFile) ReadAt(p []byte, at int64) (int, error) {
	l.once.Do(func() {
		if l.file, l.err = os.Open(l.name); l.err == nil {
			l.keep(l.file)
		}
	})
	if l.err != nil {
		return 0, l.err
	}
	return l.file.ReadAt(p, at)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
