package host

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// However the stream is cut into pieces, what comes out is the same.
func TestMarksAndBeatsAreTakenOut(t *testing.T) {
	const nonce = "NONCE"
	for name, c := range map[string]struct{ in, out, words string }{
		"nothing before":     {"\nNONCE plain\nanswer\n", "answer\n", "plain"},
		"a banner":           {"Welcome\n\nto NONCE\n\nNONCE root\nanswer", "answer", "root"},
		"beats":              {"\nNONCE plain\none\nNONCE .\n two\n\nNONCE .\n\nNONCE .\n", "one two\n", "plain"},
		"almost a beat":      {"\nNONCE plain\n\nNONCE . \n\nNONCE\n\nNON", "\nNONCE . \n\nNONCE\n\nNON", "plain"},
		"the mark again":     {"\nNONCE\nx\nNONCE y\n", "x\nNONCE y\n", ""},
		"binary":             {"\nNONCE\n\x00\xff\r\n", "\x00\xff\r\n", ""},
		"no mark":            {"This account is not available.\n", "", ""},
		"half a mark":        {"x\nNONC", "", ""},
		"no end of the mark": {"x\nNONCE plain", "", ""},
	} {
		for size := 1; size <= len(c.in); size++ {
			var out bytes.Buffer
			a := newAfter(nonce, &out, func(err error) { t.Error(err) })
			for in := c.in; in != ""; {
				n := min(size, len(in))
				if k, err := a.Write([]byte(in[:n])); k != n || err != nil {
					t.Fatalf("%s: wrote %d of %d, %v", name, k, n, err)
				}
				in = in[n:]
			}
			a.flush()
			if out.String() != c.out || a.words != c.words {
				t.Errorf("%s in pieces of %d: %q and %q", name, size, out.String(), a.words)
			}
		}
	}
}

func TestBannerWithoutEndIsNotKept(t *testing.T) {
	a := newAfter("NONCE", &bytes.Buffer{}, nil)
	for range 100 {
		_, _ = a.Write(bytes.Repeat([]byte("x"), 64<<10))
	}
	if len(a.head) > headMax {
		t.Errorf("%d bytes kept", len(a.head))
	}
}

func TestKeptOutputHasALimit(t *testing.T) {
	var k keep
	var err error
	for n := 0; err == nil && n < 2*keepMax; n += 1 << 20 {
		_, err = k.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, ErrTooLarge) || k.Len() > keepMax {
		t.Errorf("%d bytes, %v", k.Len(), err)
	}
}

// What a session is told is safe for every login shell and shows nothing.
func TestLoginLineIsPlain(t *testing.T) {
	p, err := prepare("NONCE", Command{Argv: []string{"a'b", "$x"}, Env: []string{"TOKEN=hush"}, Root: true}, "", "secret")
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(p.line, "\\!\n") || strings.Count(p.line, "'") != 2 {
		t.Errorf("line: %s", p.line)
	}
	for _, word := range []string{"hush", "secret", "a'b"} {
		if strings.Contains(p.line, word) {
			t.Errorf("%q shows in %s", word, p.line)
		}
	}
}

func TestCommandsThatCannotBeSent(t *testing.T) {
	for name, c := range map[string]Command{
		"nothing":          {},
		"empty name":       {Argv: []string{""}},
		"NUL in argv":      {Argv: []string{"echo", "a\x00b"}},
		"NUL in env":       {Argv: []string{"echo"}, Env: []string{"A=\x00"}},
		"env without =":    {Argv: []string{"echo"}, Env: []string{"A"}},
		"env that is code": {Argv: []string{"echo"}, Env: []string{"A;rm=1"}},
		"env without name": {Argv: []string{"echo"}, Env: []string{"=1"}},
	} {
		if _, err := prepare("NONCE", c, "", ""); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
}
