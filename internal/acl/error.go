package acl

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Action is what a failure calls for; the words are those of the ACL table in
// compat/codes.
type Action string

// The actions, from the mildest to the gravest.
const (
	Ignore          Action = "ignore"
	Reject          Action = "reject"   // this request, model or setting is wrong and stays wrong
	FixCode         Action = "fix_code" // a bug of the caller
	FixHost         Action = "fix_host"
	Retry           Action = "retry"
	UnloadSomething Action = "unload_something"
	Watchdog        Action = "watchdog" // a time-out: the work goes on, its memory stays in use
	ReloadContext   Action = "reload_context"
	ResetDevice     Action = "reset_device"
	RestartProcess  Action = "restart_process"
	Quarantine      Action = "quarantine"

	collectLog Action = "collect_log" // of text codes that mean nothing by themselves
)

// Codes that are told apart here (source: vendor's error_codes headers).
const (
	CodeRepeatInit     = 100002
	CodeRepeatFinalize = 100037
	codeNoContext      = 107002
	CodeStreamTimeout  = 507046
	CodeEventTimeout   = 507047
	// CodeNoExecutor comes from aclInit of 2026-08 where the library of the chip
	// is missing: a number of the graph engine that ACL hands on (run).
	CodeNoExecutor = 0x50100001
)

// Meaning is what is known of a code.
type Meaning struct {
	Name   string // ACL_ERROR_RT_CONTEXT_NULL
	Text   report.Text
	Remedy report.Text
	Class  string // user, environment, resource, device, driver
	Action Action
}

// Explain looks a code up: a number as the library returns it, or a text code
// (EE1018).
type Explain func(code string) (Meaning, bool)

// Error is every failure of a Thread's methods. Code 0 is a call that was
// refused here, before the library saw it; Detail then says why.
type Error struct {
	Call string // the vendor's name of the function
	Code int
	Meaning
	// Cause is the code in the library's text that says more than Code does:
	// "EE1011", "507008". Meaning is then that of the cause, but for the name.
	Cause string
	// Detail is what the library said on the thread of the failure: the newest
	// block of aclGetRecentErrMsg without the lines that asking adds, paths cut.
	Detail string
	Err    error // one of this package's errors, or nil
}

func (e *Error) Error() string {
	s := e.Call + ": "
	switch {
	case e.Name != "":
		s += fmt.Sprintf("%s (%d)", e.Name, e.Code)
	case e.Code != 0:
		s += strconv.Itoa(e.Code)
	}
	for line := range strings.Lines(e.Detail) {
		if line = stamp().ReplaceAllString(strings.TrimSpace(line), ""); line != "" && !headings().MatchString(line) {
			return strings.TrimSuffix(s, ": ") + ": " + line
		}
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// TimedOut is true for a wait that ended before the work did.
func (e *Error) TimedOut() bool { return e.Code == CodeStreamTimeout || e.Code == CodeEventTimeout }

// Problem is the failure as a person sees it; what says what was being done.
func (e *Error) Problem(what report.Text) *report.Problem {
	p := &report.Problem{What: what, Why: report.Same(e.Error()), Do: e.Remedy, Exit: report.ExitFailed, Err: e}
	if !e.Text.IsZero() {
		p.Why = report.T("%s (%s)", "%s（%s）", e.Error(), e.Text)
	}
	if e.Code > 0 {
		p.Run = report.Line("ascendctl", "explain", orCode(e.Cause, e.Code))
	}
	return p
}

func orCode(cause string, code int) string {
	if cause != "" {
		return cause
	}
	return strconv.Itoa(code)
}

// refuse is a call that is not made, because the library would misbehave.
func refuse(call string, a Action, err error, format string, args ...any) *Error {
	return &Error{Call: call, Meaning: Meaning{Action: a}, Detail: fmt.Sprintf(format, args...), Err: err}
}

// failure gives a code its meaning. Some codes stand for everything that went
// wrong below; then the text decides.
func failure(call string, code int, text string, explain Explain) *Error {
	e := &Error{Call: call, Code: code, Detail: newest(code, text)}
	if explain == nil {
		explain = func(string) (Meaning, bool) { return Meaning{}, false }
	}
	e.Meaning, _ = explain(strconv.Itoa(code))
	if e.Action == "" {
		e.Action = byRange(code)
	}
	if !collects(code) {
		return e
	}
	e.Action = ReloadContext // what is known when nothing is said
	for _, cause := range causes(e.Detail) {
		// An inner error says by its words, not by its code, what to do.
		if m, ok := explain(cause); ok && m.Action != "" && m.Action != collectLog {
			e.Cause, m.Name = cause, e.Name
			e.Meaning = m
			break
		}
	}
	return e
}

// byRange is the vendor's rule for numbers: 1 caller, 2 resource, 5 inside.
func byRange(code int) Action {
	switch code / 100000 {
	case 1:
		return Reject
	case 2:
		return UnloadSomething
	}
	return RestartProcess
}

// collects is true for codes that hide their cause (source: ACL maps what the
// parts below answer outside their ranges to these).
func collects(code int) bool {
	return code >= 500000 && code <= 500004 || code == CodeNoExecutor
}

// pattern compiles when first used: start-up pays for nothing it does not need.
func pattern(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}

var (
	textCode    = pattern(`\b[EW][0-9A-Z]\d{4}\b`)
	runtimeCode = pattern(`\b507\d{3}\b|\b0x7[BbCc][0-9A-Fa-f]{3}\b`)
	stamp       = pattern(`^(?:[EW][0-9A-Z]\d{4})?\[PID: \d+\] [\d.:-]+ +|\[FUNC:[^\]]*\]\[FILE:[^\]]*\]\[LINE:\d+\]`) // which process, when and where in it
	headings    = pattern(`^TraceBack|^[EW][0-9A-Z]\d{4}: (?i:inner|internal) (?i:error)!$`)
	folders     = pattern(`(?:/[\w.+@-]+)+/`)
)

// causes lists what a text blames, the best first: a code of the runtime or the
// device, the first text code, and an inner one (free text) when it is alone.
func causes(detail string) (out []string) {
	for _, s := range runtimeCode().FindAllString(detail, -1) {
		if n, err := strconv.ParseInt(s, 0, 64); err == nil && n >= 507000 && n < 508000 {
			out = append(out, strconv.FormatInt(n, 10))
		}
	}
	all := textCode().FindAllString(detail, -1)
	if i := slices.IndexFunc(all, func(s string) bool { return !isInner(s) }); i > 0 {
		all = all[i:]
	}
	return append(out, all...)
}

func isInner(code string) bool {
	return strings.HasSuffix(code, "9999") || strings.HasSuffix(code, "8888")
}

// newest takes the block of the last failure out of what aclGetRecentErrMsg
// answers. Releases differ: some append all earlier blocks behind a blank line,
// and where the thread has no context, or no chip is known, the question itself
// fails and says so first, advice included (source: hicann/runtime v8.5.0 to
// 2026-08, run).
func newest(code int, text string) string {
	var lines []string
	dropped := false // the head before this line was the question's own
	for line := range strings.Lines(strings.ToValidUTF8(text, "?")) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" && len(lines) > 0 {
			break
		}
		lower := strings.ToLower(strings.TrimSpace(line))
		own := strings.Contains(line, "rtGetDevMsg") || strings.Contains(lower, "get device msg") ||
			code != codeNoContext && strings.Contains(line, "No valid context is bound")
		if own {
			dropped = true
			continue
		}
		advice := strings.HasPrefix(lower, "solution:") || strings.HasPrefix(lower, "possible cause:")
		if line == "" || dropped && advice {
			continue
		}
		dropped = false
		lines = append(lines, folders().ReplaceAllString(line, ""))
	}
	return strings.Join(lines, "\n")
}
