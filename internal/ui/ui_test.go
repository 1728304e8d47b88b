package ui

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/report"
)

func env(kv ...string) func(string) string {
	return func(k string) string {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == k {
				return kv[i+1]
			}
		}
		return ""
	}
}

func TestLanguage(t *testing.T) {
	for _, c := range []struct {
		named string
		env   []string
		want  report.Lang
	}{
		{"", nil, report.En},
		{"zh", nil, report.Zh},
		{"en", []string{"LANG", "zh_CN.UTF-8"}, report.En},
		{"", []string{"LANG", "zh_CN.UTF-8"}, report.Zh},
		{"", []string{"LANG", "zh_CN.UTF-8", "LC_ALL", "C"}, report.En},
		{"", []string{"LANG", "en_US.UTF-8", "LC_MESSAGES", "zh_TW"}, report.Zh},
		{"", []string{"LANG", "de_DE.UTF-8"}, report.En},
	} {
		if got := Language(c.named, env(c.env...)); got != c.want {
			t.Errorf("%q %v: %s, want %s", c.named, c.env, got, c.want)
		}
	}
}

func TestColourOnlyWhereItBelongs(t *testing.T) {
	for _, c := range []struct {
		name  string
		tty   bool
		no    bool
		env   []string
		codes bool
	}{
		{"terminal", true, false, nil, true},
		{"pipe", false, false, nil, false},
		{"NO_COLOR", true, false, []string{"NO_COLOR", "1"}, false},
		{"flag", true, true, nil, false},
		{"dumb", true, false, []string{"TERM", "dumb"}, false},
	} {
		o := New(Options{W: &bytes.Buffer{}, TTY: c.tty, NoColor: c.no, Getenv: env(c.env...)})
		got := o.Mark(report.Fail) + o.Faint("x") + o.Bold("y")
		if strings.Contains(got, "\x1b") != c.codes {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestMarksAreOneColumnEverywhere(t *testing.T) {
	wide := runewidth.Condition{EastAsianWidth: true}
	for s, m := range marks {
		if wide.StringWidth(m.glyph) != 1 {
			t.Errorf("%s: %q is two columns on a Chinese terminal", s, m.glyph)
		}
	}
	o := New(Options{W: &bytes.Buffer{}, Getenv: env("LANG", "C")})
	if o.Mark(report.Pass) != "ok" {
		t.Error("no ASCII mark in a plain locale")
	}
	o = New(Options{W: &bytes.Buffer{}, Getenv: env("LANG", "zh_CN.UTF-8")})
	if o.Mark(report.Pass) != "✓" {
		t.Error("no glyph in a UTF-8 locale")
	}
}

func TestTableAlignsByDisplayWidth(t *testing.T) {
	var b bytes.Buffer
	o := New(Options{W: &b, TTY: true, NoColor: true, Lang: report.Zh, Getenv: env()})
	o.Table([]Column{{Head: report.T("NAME", "名称")}, {Head: report.T("MS", "毫秒"), Right: true}},
		[][]string{{"显存占用", "1.5"}, {"x", "220"}})
	want := "名称      毫秒\n显存占用   1.5\nx          220\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	o = New(Options{W: &b, Getenv: env()})
	o.Table([]Column{{}, {}}, [][]string{{"a", "b"}})
	if b.String() != "a\tb\n" {
		t.Errorf("a pipe gets tabs and no head: %q", b.String())
	}
}

func TestProblemScreen(t *testing.T) {
	p := &report.Problem{
		What: report.T("cannot read %s", "无法读取 %s", "m.onnx"),
		Why:  report.Same("permission denied\nsecond line"),
		Do:   report.T("fix it", "修复"), Run: "ascendctl inspect m.onnx",
	}
	for lang, want := range map[report.Lang]string{
		report.En: "ascendctl: cannot read m.onnx\n  why   permission denied\n        second line\n  do    fix it\n  run   ascendctl inspect m.onnx\n",
		report.Zh: "ascendctl: 无法读取 m.onnx\n  原因  permission denied\n        second line\n  处理  修复\n  命令  ascendctl inspect m.onnx\n",
	} {
		var b bytes.Buffer
		New(Options{W: &b, Lang: lang, Getenv: env()}).Problem("ascendctl", p)
		if b.String() != want {
			t.Errorf("got\n%swant\n%s", b.String(), want)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestReporters is the contract of ui.Reporter for every kind.
func TestReporters(t *testing.T) {
	for _, kind := range []string{ProgressTTY, ProgressPlain, ProgressNone} {
		t.Run(kind, func(t *testing.T) {
			var b bytes.Buffer
			now := time.Unix(0, 0)
			clock := func() time.Time { now = now.Add(time.Second); return now }
			o := New(Options{W: &b, TTY: kind == ProgressTTY, Getenv: env()})
			task := NewReporter(kind, o, clock).Start(report.T("fetch", "下载"), Size)
			done := make(chan struct{})
			go func() { // a task is safe for concurrent use
				defer close(done)
				for i := range int64(50) {
					task.Set(i, 100)
				}
			}()
			for i := range int64(100) {
				task.Set(i, 100)
			}
			<-done
			for range 1000 {
				task.Note(report.T("verifying", "校验"))
			}
			task.End(nil)
			NewReporter(kind, o, clock).Start(report.T("other", "其他"), Things).End(errors.New("no"))
			got := b.String()
			switch {
			case kind == ProgressNone && got != "":
				t.Errorf("none wrote %q", got)
			case kind == ProgressNone:
			case !strings.Contains(got, "fetch  done in") || !strings.Contains(got, "other  failed after"):
				t.Errorf("no end in %q", got)
			case kind == ProgressPlain && (strings.ContainsAny(got, "\r\x1b") || strings.Count(got, "\n") > 20):
				t.Errorf("plain progress must stay short and free of control characters: %q", got)
			}
		})
	}
}

func TestSizesAndTimes(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Bytes(0), "0 B"}, {Bytes(1023), "1023 B"}, {Bytes(1536), "1.5 KiB"}, {Bytes(27780211), "26.5 MiB"}, {Bytes(5 << 40), "5.0 TiB"},
		{Duration(220 * time.Millisecond), "220ms"}, {Duration(1900 * time.Millisecond), "1.9s"}, {Duration(30 * time.Second), "30s"},
		{Duration(312 * time.Second), "5m12s"}, {Duration(3*time.Hour + 4*time.Minute), "3h04m"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
