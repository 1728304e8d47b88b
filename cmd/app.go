// Package cmd is the desk: flags to options, options to calls, results to
// screens and exit codes. Everything a command may use is in App; there is
// nothing global behind it, so Main can run many times in one process.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ascendctl/ascendctl/internal/hub"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Name is what the tool calls itself.
const Name = "ascendctl"

// App is the outside world as a command sees it.
type App struct {
	In             io.Reader
	Out, Err       io.Writer
	OutTTY, ErrTTY bool
	Columns        int // of the terminal, 0: unknown

	Getenv  func(string) string
	Environ []string // for child processes
	Now     func() time.Time
	Rand    io.Reader
	// Exec and LookPath run and find the tools of this machine (pip, npm).
	Exec     func(context.Context, hub.Command) (out []byte, exit int, err error)
	LookPath func(string) (string, error)
	Hostname func() (string, error)
	// Ask puts a question to the person at the terminal; without echo what is
	// typed is not shown. nil: nobody is there.
	Ask func(ctx context.Context, question string, echo bool) (string, error)
	// Self is the path of the running binary, "" when unknown.
	Self  string
	Build Build
}

// Build says which binary this is; set by the linker.
type Build struct{ Version, Commit, Date string }

// verdict is "the work was done and this is the answer": nothing is printed
// for it, because the answer already was.
type verdict report.Exit

func (v verdict) Error() string { return fmt.Sprintf("exit %d", int(v)) }

// Main runs one command line and gives its exit status. ctx ends with the
// first interrupt.
func Main(ctx context.Context, a App, args []string) int {
	s, err := newSession(a, args)
	if err == nil {
		err = s.execute(ctx, args)
	}
	code := exitCode(ctx, err)
	s.complain(err, code)
	s.close(code)
	return int(code)
}

func exitCode(ctx context.Context, err error) report.Exit {
	var v verdict
	var p *report.Problem
	switch {
	case err == nil:
		return report.ExitOK
	case errors.As(err, &v):
		return report.Exit(v)
	case ctx.Err() != nil:
		return report.ExitInterrupted
	case errors.As(err, &p):
		return p.Exit
	}
	return report.ExitFailed
}

// complain writes the failure to stderr: for people, or as JSON where the
// answer would have been JSON.
func (s *session) complain(err error, code report.Exit) {
	var v verdict
	if err == nil || errors.As(err, &v) {
		return
	}
	p := s.problem(err, code)
	switch code {
	case report.ExitFailed, report.ExitUndone, report.ExitStuck:
		s.log.Error("failed", "cmd", s.ran, "exit", int(code), "error", p.Error())
		p.Log = s.log.path()
	}
	if s.format == "json" {
		s.encode(s.app.Err, p)
		return
	}
	s.err.Problem(Name, p)
}

// problem gives every error the form of one. A copy, because a Problem may be
// shared and gets its log path here.
func (s *session) problem(err error, code report.Exit) *report.Problem {
	var found *report.Problem
	p := report.Problem{What: report.Same(err.Error()), Exit: code, Err: err}
	if code == report.ExitInterrupted {
		p.What = report.T("interrupted", "已中断")
	} else if errors.As(err, &found) {
		p = *found
		p.Exit = code
	}
	mask := func(t report.Text) report.Text {
		return report.Text{En: s.secrets.String(t.En), Zh: s.secrets.String(t.Zh)}
	}
	p.What, p.Why, p.Do, p.Run = mask(p.What), mask(p.Why), mask(p.Do), s.secrets.String(p.Run)
	return &p
}

// usage is a mistake of the caller: exit 64.
func usage(what, why, do report.Text, run string) error {
	return &report.Problem{What: what, Why: why, Do: do, Run: run, Exit: report.ExitUsage}
}

// stateDir, cacheDir and configDir are the XDG places; "" when the machine has
// no home at all (a service without HOME), and then nothing is kept.
func (a App) stateDir() string  { return a.xdg("XDG_STATE_HOME", ".local/state") }
func (a App) cacheDir() string  { return a.xdg("XDG_CACHE_HOME", ".cache") }
func (a App) configDir() string { return a.xdg("XDG_CONFIG_HOME", ".config") }

func (a App) xdg(name, under string) string {
	if d := a.Getenv(name); d != "" && d[0] == '/' {
		return d + "/" + Name
	}
	if h := a.Getenv("HOME"); h != "" {
		return h + "/" + under + "/" + Name
	}
	return ""
}

// progress turns --progress into the kind of reporter this run gets.
func (a App) progress(kind string) string {
	switch {
	case kind != "auto":
		return kind
	case a.ErrTTY && a.Getenv("CI") == "" && a.Getenv("TERM") != "dumb":
		return ui.ProgressTTY
	}
	return ui.ProgressPlain
}

// readInput reads a file that the user named, or stdin for "-".
func (s *session) readInput(flag, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(s.app.In, 16<<20))
	}
	return readFile(flag, name)
}

// readFile reads a file that the user named on the command line.
func readFile(flag, name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, usage(report.T("cannot read %s", "无法读取 %s", name),
			report.T("%s: %v", "%s：%v", flag, err), report.T("give a file that exists and can be read", "指定存在且可读的文件"), "")
	}
	return data, nil
}
