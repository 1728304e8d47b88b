package report

import (
	"os"
	"strings"
	"testing"
)

func corpus(t *testing.T, name string) (out []string) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return out
}

// marked splits a line of the corpus into the text and its secrets.
func marked(line string) (text string, secrets []string) {
	for rest := line; ; {
		before, after, found := strings.Cut(rest, "«")
		text += before
		if !found {
			return text, secrets
		}
		var secret string
		secret, rest, _ = strings.Cut(after, "»")
		text += secret
		secrets = append(secrets, secret)
	}
}

// TestNoShapeOfASecretIsLeft: the redactor is told nothing.
func TestNoShapeOfASecretIsLeft(t *testing.T) {
	lines := corpus(t, "secret-shapes.txt")
	for _, line := range lines {
		text, secrets := marked(line)
		got := new(Redactor).String(text)
		for _, s := range secrets {
			if strings.Contains(got, s) || !strings.Contains(got, Mask) {
				t.Errorf("%q -> %q: %q is left", text, got, s)
			}
		}
		if len(secrets) == 0 {
			t.Errorf("%q marks no secret", line)
		}
		if again := new(Redactor).String(got); strings.ReplaceAll(again, Mask, "") != strings.ReplaceAll(got, Mask, "") {
			t.Errorf("%q -> %q: a second pass tears more out", got, again)
		}
	}
	if t.Logf("%d shapes", len(lines)); len(lines) < 200 {
		t.Errorf("only %d shapes", len(lines))
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	for _, line := range corpus(t, "no-secrets.txt") {
		if got := new(Redactor).String(line); got != line {
			t.Errorf("%q -> %q", line, got)
		}
	}
}

func BenchmarkRedactor(b *testing.B) {
	text := strings.Repeat("2026-11-30T01:45:00Z level=INFO msg=\"download\" item=toolkit from=https://mirror.example/a at=0\n", 1000)
	var r Redactor
	r.Add("hunter22")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.String(text)
	}
}
