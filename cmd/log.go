package cmd

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// logOptions say where log lines go.
type logOptions struct {
	Dir     string // state folder; its log/ is used when File is ""
	File    string
	Format  string // text, json
	Level   string
	Now     func() time.Time
	Secrets *report.Redactor
}

// kept is how many log files stay in the folder.
const kept = 20

// logFile is a logger whose file comes into being with its first line, so a
// command that has nothing to say leaves nothing behind.
type logFile struct {
	*slog.Logger
	lazy *lazyFile
}

func newLog(o logOptions) *logFile {
	var level slog.Level
	if level.UnmarshalText([]byte(o.Level)) != nil {
		level = slog.LevelInfo // the flag itself is checked where flags are
	}
	l := &lazyFile{o: o}
	h := &slog.HandlerOptions{Level: level}
	if o.Format == "json" {
		return &logFile{slog.New(slog.NewJSONHandler(l, h)), l}
	}
	return &logFile{slog.New(slog.NewTextHandler(l, h)), l}
}

func (l *logFile) path() string { return l.lazy.path() }
func (l *logFile) close()       { l.lazy.close() }

// quietInfo tells whether lines of level info are wanted at all.
func (l *logFile) quietInfo() bool { return !l.Enabled(context.Background(), slog.LevelInfo) }

type lazyFile struct {
	o    logOptions
	mu   sync.Mutex
	f    *os.File
	size int64
	dead bool // could not be opened: logging must never fail a command
}

// maxLog bounds a log file of ours: a service logs every request for months.
// The one before it is kept as .old.
const maxLog = 64 << 20

// Write takes one whole line from slog.
func (l *lazyFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil && !l.dead {
		l.dead = l.open() != nil
	}
	if l.f != nil {
		n, _ := io.WriteString(l.f, l.o.Secrets.String(string(line)))
		if l.size += int64(n); l.size > maxLog && l.o.File == "" {
			l.rotate()
		}
	}
	return len(line), nil
}

func (l *lazyFile) open() (err error) {
	name := l.o.File
	if name == "" {
		if l.o.Dir == "" {
			return os.ErrNotExist
		}
		dir := filepath.Join(l.o.Dir, "log")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		prune(dir)
		name = filepath.Join(dir, l.o.Now().UTC().Format("20060102-150405.000")+".log")
	}
	l.f, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// rotate begins the file anew. Where that fails the old one goes on.
func (l *lazyFile) rotate() {
	l.size = 0
	name := l.f.Name()
	if os.Rename(name, name+".old") != nil {
		return
	}
	if f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		_ = l.f.Close()
		l.f = f
	}
}

// prune keeps the newest files; their names sort by time.
func prune(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	sort.Strings(old)
	for len(old) >= kept {
		_ = os.Remove(old[0])
		_ = os.Remove(old[0] + ".old")
		old = old[1:]
	}
}

// path is the file that was written, "" when nothing was.
func (l *lazyFile) path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return ""
	}
	return l.f.Name()
}

func (l *lazyFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		_ = l.f.Close()
	}
}
