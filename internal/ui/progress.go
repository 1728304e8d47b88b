package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Unit is what a task counts.
type Unit bool

const (
	Things Unit = false // requests, files
	Size   Unit = true  // bytes
)

// Reporter makes tasks; the caller does not know what kind of output there is.
type Reporter interface {
	Start(name report.Text, unit Unit) Task
}

// Task is one line of long work. It is safe for concurrent use.
type Task interface {
	Set(done, total int64) // total 0: unknown
	Note(msg report.Text)  // "verifying"
	End(err error)         // nil: done
}

// Progress kinds of --progress.
const (
	ProgressTTY   = "tty"
	ProgressPlain = "plain"
	ProgressNone  = "none"
)

// NewReporter gives the reporter of that kind, writing to the stream of o.
func NewReporter(kind string, o *Out, now func() time.Time) Reporter {
	switch kind {
	case ProgressTTY:
		return barReporter{o, now}
	case ProgressPlain:
		return plainReporter{o, now}
	}
	return quiet{}
}

type quiet struct{}

func (quiet) Start(report.Text, Unit) Task { return quiet{} }
func (quiet) Set(int64, int64)             {}
func (quiet) Note(report.Text)             {}
func (quiet) End(error)                    {}

// plainReporter is for logs and CI: start, each tenth or 30 s, end. No control
// characters, so a long download is a dozen lines and not a megabyte.
type plainReporter struct {
	o   *Out
	now func() time.Time
}

func (r plainReporter) Start(name report.Text, unit Unit) Task {
	t := &plainTask{plainReporter: r, name: name, unit: unit, began: r.now(), last: r.now()}
	r.o.Print("%s ...\n", name.In(r.o.lang))
	t.stop = beat(every, t.waiting)
	return t
}

type plainTask struct {
	plainReporter
	name  report.Text
	unit  Unit
	began time.Time
	stop  func()

	mu    sync.Mutex
	note  report.Text
	last  time.Time
	tenth int64
}

// waiting is for work that says nothing for long.
func (t *plainTask) waiting() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); now.Sub(t.last) >= every {
		t.last = now
		t.o.Print("%s  %s  %s\n", t.name.In(t.o.lang), t.note.In(t.o.lang), Duration(now.Sub(t.began)))
	}
}

// A line at each tenth, but not faster than people read; and every 30 s where
// no tenth comes.
const (
	atMost = time.Second
	every  = 30 * time.Second
)

func (t *plainTask) Set(done, total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tenth := t.tenth
	if total > 0 {
		tenth = done * 10 / total
	}
	if now := t.now(); tenth > t.tenth && now.Sub(t.last) >= atMost || now.Sub(t.last) >= every {
		t.tenth, t.last = tenth, now
		t.o.Print("%s  %s  %s\n", t.name.In(t.o.lang), t.unit.amount(done, total), Duration(now.Sub(t.began)))
	}
}

func (t *plainTask) Note(msg report.Text) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if msg == t.note {
		return // a caller may say it with every step
	}
	t.note, t.tenth, t.last = msg, 0, t.now()
	t.o.Print("%s  %s\n", t.name.In(t.o.lang), msg.In(t.o.lang))
}

func (t *plainTask) End(err error) {
	t.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.o.Print("%s  %s\n", t.name.In(t.o.lang), ending(err, t.now().Sub(t.began)).In(t.o.lang))
}

// barReporter redraws one line of a terminal.
type barReporter struct {
	o   *Out
	now func() time.Time
}

func (r barReporter) Start(name report.Text, unit Unit) Task {
	bar := progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(r.o.w),
		progressbar.OptionSetDescription(name.In(r.o.lang)),
		progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionShowElapsedTimeOnFinish(),
		// The bar's own letters: the default is block drawing, which is two
		// columns wide on many Chinese terminals.
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}),
		progressbar.OptionSpinnerCustom([]string{"-", "\\", "|", "/"}),
		// Else the bar draws from a goroutine of its own that nobody ends.
		progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionShowBytes(unit == Size),
		progressbar.OptionUseIECUnits(true),
	)
	t := &barTask{barReporter: r, name: name, bar: bar, began: r.now()}
	t.stop = beat(time.Second, t.waiting)
	return t
}

type barTask struct {
	barReporter
	name  report.Text
	bar   *progressbar.ProgressBar
	began time.Time
	stop  func()

	mu   sync.Mutex
	note report.Text
}

// waiting lets the clock of the line go on.
func (t *barTask) waiting() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.describe() // draws too
}

func (t *barTask) describe() {
	words := t.name.In(t.o.lang)
	if !t.note.IsZero() {
		words += "  " + t.note.In(t.o.lang)
	}
	t.bar.Describe(words)
}

// The bar's own lock does not hold over two calls; what it returns are write
// errors of the terminal, about which nothing can be said there.

func (t *barTask) Set(done, total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if total > 0 && t.bar.GetMax64() != total {
		t.bar.ChangeMax64(total)
	}
	_ = t.bar.Set64(done)
}

func (t *barTask) Note(msg report.Text) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if msg != t.note {
		t.note = msg
		t.describe()
	}
}

func (t *barTask) End(err error) {
	t.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.bar.Clear()
	t.o.Print("%s  %s\n", t.name.In(t.o.lang), ending(err, t.now().Sub(t.began)).In(t.o.lang))
}

// beat calls f every d until stop, which waits for a call under way.
func beat(d time.Duration, f func()) (stop func()) {
	tick, done, ended := time.NewTicker(d), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				f()
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		tick.Stop()
		close(done)
		<-ended
	})
}

func ending(err error, took time.Duration) report.Text {
	if err != nil {
		return report.T("failed after %s", "失败，用时 %s", Duration(took))
	}
	return report.T("done in %s", "完成，用时 %s", Duration(took))
}

func (u Unit) amount(done, total int64) string {
	a, b := fmt.Sprint(done), fmt.Sprint(total)
	if u == Size {
		a, b = Bytes(done), Bytes(total)
	}
	if total <= 0 {
		return a
	}
	return fmt.Sprintf("%d%% (%s / %s)", done*100/total, a, b)
}

// Bytes writes a size as people read it: three digits, binary units.
func Bytes(n int64) string {
	f, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	switch {
	case i == 0:
		return fmt.Sprintf("%d B", n)
	case f >= 100:
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// Duration writes a time as people read it: 220ms, 1.9s, 5m12s.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// lockedWriter lets several tasks share a stream.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
