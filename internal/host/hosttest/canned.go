//go:build unix

package hosttest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
	"sync"
)

// Canned answers without a process what exec has answered once: the same
// command line and input, apart from random marks, get the same bytes with the
// marks of the new question. So a server can play many hosts and the time
// measured is that of the client. Simulated: the answers never change.
func Canned(exec Exec) Exec {
	c := &canned{exec: exec, answers: map[string]*answer{}, mark: regexp.MustCompile(`[A-Z2-7]{26}`), way: regexp.MustCompile(`^/(?:\.//|/\./){24}`)}
	return c.serve
}

type canned struct {
	exec    Exec
	mark    *regexp.Regexp // of rand.Text
	way     *regexp.Regexp // the way around that is made of one, before names of files
	mu      sync.Mutex
	answers map[string]*answer
}

type answer struct {
	marks          [][]byte
	stdout, stderr []byte
	exit           int
}

func (c *canned) serve(ctx context.Context, s Session) int {
	input, err := readInput(s.Line, s.Stdin)
	if err != nil {
		return 255
	}
	var marks [][]byte
	key := c.mark.ReplaceAllFunc(input, func(m []byte) []byte {
		n := indexOf(marks, m)
		if n == len(marks) {
			marks = append(marks, bytes.Clone(m))
		}
		return []byte("<mark " + strconv.Itoa(n) + ">")
	})
	if _, after, ok := bytes.Cut(input, []byte("head -c 1048577 -- ")); ok {
		if way := c.way.Find(after); way != nil {
			key = bytes.ReplaceAll(key, way, []byte("<way>"))
			marks = append(marks, way)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.answers[string(key)]
	if !ok {
		// Held open like a real session: its end would kill the command.
		held, end := io.Pipe()
		defer end.Close()
		var out, errs bytes.Buffer
		exit := c.exec(ctx, Session{s.User, s.Line, io.MultiReader(bytes.NewReader(input), held), &out, &errs})
		a = &answer{marks, out.Bytes(), errs.Bytes(), exit}
		c.answers[string(key)] = a
	}
	_, _ = s.Stdout.Write(a.with(a.stdout, marks))
	_, _ = s.Stderr.Write(a.with(a.stderr, marks))
	return a.exit
}

func indexOf(marks [][]byte, m []byte) int {
	for i := range marks {
		if bytes.Equal(marks[i], m) {
			return i
		}
	}
	return len(marks)
}

func (a *answer) with(text []byte, marks [][]byte) []byte {
	for i := range a.marks {
		text = bytes.ReplaceAll(text, a.marks[i], marks[i])
	}
	return text
}

// readInput reads what the client of this project sends over a session: the
// program whose size the command line names, then chunks until the one of size
// zero. A client that elevates with a password is not understood.
func readInput(line string, stdin io.Reader) ([]byte, error) {
	m := regexp.MustCompile(`dd bs=(\d+) `).FindStringSubmatch(line)
	if m == nil {
		return nil, io.ErrUnexpectedEOF
	}
	var all bytes.Buffer
	r := bufio.NewReader(io.TeeReader(stdin, &all))
	size := m[1]
	for {
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return all.Bytes(), nil
		}
		if _, err := io.CopyN(io.Discard, r, n); err != nil {
			return nil, err
		}
		if size, err = r.ReadString('\n'); err != nil {
			return nil, err
		}
		size = size[:len(size)-1]
	}
}
