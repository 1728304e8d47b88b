package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// session is one command line being run.
type session struct {
	app     App
	lang    report.Lang
	format  string // -o
	out     *ui.Out
	err     *ui.Out
	log     *logFile
	secrets *report.Redactor
	started time.Time
	args    []string
	ran     string // "serve", "data fetch"
	works   bool   // does more than look: its end is logged too
	flags   globalFlags
	config  config

	asking sync.Mutex // many hosts, one terminal
}

// globalFlags are those every command has.
type globalFlags struct {
	output, lang, compat, config, progress string
	logLevel, logFormat, logFile           string
	noColor, verbose, quiet, help          bool
}

// config is the file of --config. Flags and environment rule over it.
type config struct {
	Lang     string `yaml:"lang"`
	Output   string `yaml:"output"`
	Compat   string `yaml:"compat"`
	LogLevel string `yaml:"log_level"`
	ORTLib   string `yaml:"ort_lib"`
}

// newSession decides language and streams before the command line is parsed,
// because help and the errors of parsing need them too.
func newSession(a App, args []string) (*session, error) {
	s := &session{app: a, args: args, started: a.Now(), secrets: &report.Redactor{}}
	for _, k := range []string{"ASCENDCTL_SSH_PASSWORD", "ASCENDCTL_SUDO_PASSWORD"} {
		s.secrets.Add(a.Getenv(k))
	}
	early := peek(args, "--lang", "--output", "-o", "--config", "--no-color", "--log-level", "--log-format", "--log-file")
	confErr := s.readConfig(first(early["--config"], a.Getenv("ASCENDCTL_CONFIG")))
	s.lang = ui.Language(first(early["--lang"], a.Getenv("ASCENDCTL_LANG"), s.config.Lang), a.Getenv)
	s.format = first(early["--output"], early["-o"], a.Getenv("ASCENDCTL_OUTPUT"), s.config.Output, "table")
	_, plain := early["--no-color"]
	stream := func(w io.Writer, tty bool) *ui.Out {
		return ui.New(ui.Options{W: w, TTY: tty, Columns: a.Columns, Lang: s.lang, NoColor: plain, Getenv: a.Getenv})
	}
	s.out, s.err = stream(a.Out, a.OutTTY), stream(a.Err, a.ErrTTY)
	s.log = newLog(logOptions{
		Dir: a.stateDir(), File: early["--log-file"], Format: early["--log-format"],
		Level: first(early["--log-level"], a.Getenv("ASCENDCTL_LOG_LEVEL"), s.config.LogLevel, "info"),
		Now:   a.Now, Secrets: s.secrets,
	})
	return s, confErr
}

// peek finds the values of a few flags in a line that is not parsed yet.
func peek(args []string, names ...string) map[string]string {
	found := map[string]string{}
	for i, arg := range args {
		if arg == "--" {
			break
		}
		for _, n := range names {
			switch value, ok := strings.CutPrefix(arg, n+"="); {
			case ok:
				found[n] = value
			case arg != n:
			case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
				found[n] = args[i+1]
			default:
				found[n] = ""
			}
		}
	}
	return found
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// readConfig reads the named file, or the usual one if it is there.
func (s *session) readConfig(named string) error {
	name := named
	if name == "" {
		if name = s.app.configDir(); name == "" {
			return nil
		}
		name = filepath.Join(name, "config.yaml")
	}
	data, err := os.ReadFile(name)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return usage(report.T("cannot read the config file %s", "无法读取配置文件 %s", name), report.Same(err.Error()),
			report.T("name a file that exists with --config, or leave it out", "用 --config 指定存在的文件，或不指定"), "")
	}
	return book.Strict(data, name, &s.config)
}

// embedded names the layer inside the binary in messages, by its folder.
const embedded = "compat"

// layers are the folders of knowledge: embedded, and over it the user's own.
func (s *session) layers() []book.Layer {
	layers := []book.Layer{{Name: embedded, FS: compat.FS}}
	if dir := first(s.flags.compat, s.app.Getenv("ASCENDCTL_COMPAT"), s.config.Compat); dir != "" {
		layers = append(layers, book.Layer{Name: dir, FS: os.DirFS(dir), User: true})
	}
	return layers
}

// book gives the knowledge of all layers.
func (s *session) book() (*book.Book, error) {
	b := book.New(s.layers()...)
	return b, b.CheckLayers()
}

// envelope heads a document of that schema.
func (s *session) envelope(schema string) report.Envelope {
	return report.Envelope{
		Schema:     Name + "." + schema,
		Tool:       report.Tool{Name: Name, Version: s.app.Build.Version, Commit: s.app.Build.Commit},
		Started:    s.started.UTC().Truncate(time.Millisecond),
		DurationMS: s.app.Now().Sub(s.started).Milliseconds(),
	}
}

// reporter shows long work on stderr.
func (s *session) reporter() ui.Reporter {
	kind := s.app.progress(s.flags.progress)
	if s.flags.quiet {
		kind = ui.ProgressNone
	}
	return ui.NewReporter(kind, s.err, s.app.Now)
}

func (s *session) encode(w io.Writer, v any) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // a closed stderr has nobody to be told
}

func (s *session) execute(ctx context.Context, args []string) error {
	root := s.treeFor(args)
	root.SetArgs(negativeCode(args))
	return root.ExecuteContext(ctx)
}

// negativeCode lets people type "explain -8005 -o json": a code that is a
// negative number is no flag.
func negativeCode(args []string) []string {
	if len(args) == 0 || args[0] != "explain" || slices.Contains(args, "--") {
		return args
	}
	var codes, rest []string
	for _, a := range args {
		if len(a) > 1 && a[0] == '-' && a[1] >= '0' && a[1] <= '9' {
			codes = append(codes, a)
		} else {
			rest = append(rest, a)
		}
	}
	return append(append(rest, "--"), codes...)
}

func (s *session) close(code report.Exit) {
	if s.works {
		s.log.Info("done", "cmd", s.ran, "exit", int(code), "ms", s.app.Now().Sub(s.started).Milliseconds())
	}
	s.log.close()
}
