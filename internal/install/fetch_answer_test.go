package install

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/report"
)

func TestContentRange(t *testing.T) {
	for s, want := range map[string]string{
		"bytes 5-9/10": "5 10 ok", "bytes 5-9/*": "5 0 ok", "bytes 5-8/10": "no", "bytes */10": "no", "5-9/10": "no", "bytes 5/10": "no",
		"bytes x-9/10": "no", "bytes 5-9/99999999999999999999": "no", "": "no",
	} {
		from, total, err := contentRange(s)
		got := "no"
		if err == nil {
			got = fmt.Sprintf("%d %d ok", from, total)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

// refusal wants a problem in both languages that says what.
func refusal(t testing.TB, err error, want string) *report.Problem {
	t.Helper()
	var p *report.Problem
	if !errors.As(err, &p) {
		t.Fatalf("%v is no problem, want %q", err, want)
	}
	if all := p.What.En + "\n" + p.Why.En + "\n" + p.Do.En; !strings.Contains(all, want) {
		t.Errorf("%s\nwant %q", all, want)
	}
	if p.What.Zh == "" || p.Exit == 0 {
		t.Errorf("%+v lacks Chinese or an exit code", p)
	}
	return p
}
