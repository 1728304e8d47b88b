package report

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestTextsFormatBothHalves(t *testing.T) {
	inner := T("the file", "文件")
	got := T("%s has %d rows", "%s 有 %d 行", inner, 3)
	if got.En != "the file has 3 rows" || got.Zh != "文件 有 3 行" {
		t.Errorf("%+v", got)
	}
	if got.In(Zh) != got.Zh || got.In(En) != got.En || got.In("fr") != got.En {
		t.Error("wrong half")
	}
	if percent := T("100%", "100%"); percent.En != "100%" {
		t.Errorf("a text without arguments is not a format: %q", percent.En)
	}
}

func TestProblemIsAnErrorAndJSON(t *testing.T) {
	p := &Problem{What: T("cannot read %s", "无法读取 %s", "x"), Why: Same("EACCES"), Run: "ascendctl inspect x", Exit: ExitFailed, Err: fs.ErrPermission}
	var err error = p
	if err.Error() != "cannot read x: EACCES" || !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	data, _ := json.Marshal(p)
	want := `{"error":{"what":{"en":"cannot read x","zh":"无法读取 x"},"why":{"en":"EACCES","zh":"EACCES"},"run":"ascendctl inspect x","exit":1}}`
	if string(data) != want {
		t.Errorf("%s\nwant %s", data, want)
	}
}

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		f                Finding
		refuses, caution bool
	}{
		{Finding{Status: Fail, Severity: Error}, true, false},
		{Finding{Status: Fail, Severity: Blocker}, true, false},
		{Finding{Status: Fail, Severity: Warning}, false, true},
		{Finding{Status: Warn, Severity: Error}, false, true},
		{Finding{Status: Unknown, Severity: Error}, false, true},
		{Finding{Status: Pass, Severity: Error}, false, false},
		{Finding{Status: Skip, Severity: Blocker}, false, false},
		{Finding{Status: Fail, Severity: Error, Because: []string{"driver.installed"}}, false, false},
	} {
		if c.f.Refuses() != c.refuses || c.f.Cautions() != c.caution {
			t.Errorf("%+v: refuses %v cautions %v", c.f, c.f.Refuses(), c.f.Cautions())
		}
	}
}

func TestWorstExitWins(t *testing.T) {
	for _, c := range []struct {
		codes []Exit
		want  Exit
	}{
		{nil, ExitOK},
		{[]Exit{ExitOK, ExitWarnings, ExitNo}, ExitNo},
		{[]Exit{ExitNo, ExitUnreachable}, ExitUnreachable},
		{[]Exit{ExitUnreachable, ExitFailed, ExitUndone, ExitStuck}, ExitStuck},
		{[]Exit{ExitOK, ExitNotAgreed}, ExitNotAgreed},
		{[]Exit{ExitOK, ExitInterrupted}, ExitInterrupted},
		{[]Exit{ExitInterrupted, ExitUndone}, ExitUndone},
		{[]Exit{ExitOK, ExitUsage}, ExitUsage},
	} {
		if got := Worst(c.codes...); got != c.want {
			t.Errorf("%v: %d, want %d", c.codes, got, c.want)
		}
	}
}

func TestRedactor(t *testing.T) {
	var r Redactor
	r.Add("hunter22")
	r.Add("hunter22-long")
	r.Add("abc") // too short to mask without tearing words
	for _, c := range []struct{ in, want string }{
		{"password is hunter22-long here", "password is *** here"},
		{"echo hunter22 | sudo -S", "echo *** | sudo -S"},
		{"abc stays", "abc stays"},
		{"https://user:pw@mirror.example/simple", "https://***@mirror.example/simple"},
		{"https://token@mirror.example/", "https://***@mirror.example/"},
		{"https://mirror.example/a@b", "https://mirror.example/a@b"},
		{"Authorization: Bearer abc.def-ghi", "Authorization: Bearer ***"},
		{`"password": "secret1", "user": "root"`, `"password": "***", "user": "root"`},
		{"_authToken=npm_12345 x", "_authToken=*** x"},
		{"tokens per second: 45", "tokens per second: 45"},
	} {
		if got := r.String(c.in); got != c.want {
			t.Errorf("%q -> %q, want %q", c.in, got, c.want)
		}
	}
	if strings.Contains(r.String("x hunter22 hunter22-long y"), "hunter") {
		t.Error("a secret is left")
	}
}

func TestLineCanBePasted(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"ascendctl", "serve", "m.onnx"}, "ascendctl serve m.onnx"},
		{[]string{"x", "a b", "", "it's", "$(reboot)", "模型.onnx"}, `x 'a b' '' 'it'\''s' '$(reboot)' 模型.onnx`},
	} {
		if got := Line(c.argv...); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"vesion", "version", 1}, {"tilte", "title", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"short", "muchlongerword", 5}} {
		if got := distance(c.a, c.b, 5); got != c.want {
			t.Errorf("%s %s: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestMeant(t *testing.T) {
	known := []string{"version", "title", "source"}
	if got := Meant("vesion", known); got.En != ", did you mean version" || got.Zh != "，是否应为 version" {
		t.Errorf("%+v", got)
	}
	if got := Meant("elephant", known); !got.IsZero() {
		t.Errorf("%+v", got)
	}
}

func TestChineseWordsLeaveNoBlankBetweenThem(t *testing.T) {
	got := T("seen %s, wanted %s", "依据 %s，应为 %s", Same("a b"), T("one version", "同一版本")).Tight()
	if want := (Text{"seen a b, wanted one version", "依据 a b，应为同一版本"}); got != want {
		t.Errorf("got %+v", got)
	}
}
