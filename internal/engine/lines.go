package engine

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	maxLine  = 4 << 10 // bytes of a line that are kept
	tailSize = 100     // lines kept for an explanation
	burst    = 200     // lines written to the log at once
	perSec   = 50      // and in the long run
)

// readLines gives each line of r to sink until r ends. Progress bars end their
// lines with a carriage return; a line longer than maxLine is cut. It never
// stops reading: a process must not block on its own log.
func readLines(r io.Reader, sink func(string)) {
	in := bufio.NewReaderSize(r, maxLine)
	line, left := make([]byte, 0, maxLine), 0
	flush := func() {
		if text := clean(line); text != "" {
			if left > 0 {
				text += fmt.Sprintf(" [%d bytes more]", left)
			}
			sink(text)
		}
		line, left = line[:0], 0
	}
	for {
		c, err := in.ReadByte()
		switch {
		case err != nil:
			flush()
			return
		case c == '\n' || c == '\r':
			flush()
		case len(line) < maxLine:
			line = append(line, c)
		default:
			left++
		}
	}
}

// clean drops what would move a terminal's cursor or break its encoding.
func clean(line []byte) string {
	s := strings.ToValidUTF8(string(line), "?")
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, s), " \t")
}

// journal keeps the last lines and lets only so many through to the log.
type journal struct {
	mu      sync.Mutex
	now     func() time.Time
	write   func(stream, line string)
	tail    []string // ring
	next    int
	last    time.Time // of the last line
	tokens  float64
	filled  time.Time
	dropped int
}

func newJournal(now func() time.Time, write func(stream, line string)) *journal {
	return &journal{now: now, write: write, tokens: burst, filled: now(), last: now()}
}

// add is false when the line came too fast to be shown.
func (j *journal) add(stream, line string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	j.last = now
	if len(j.tail) < tailSize {
		j.tail = append(j.tail, line)
	} else {
		j.tail[j.next] = line
		j.next = (j.next + 1) % tailSize
	}
	j.tokens = min(burst, j.tokens+now.Sub(j.filled).Seconds()*perSec)
	j.filled = now
	if j.tokens < 1 {
		j.dropped++
		return false
	}
	j.tokens--
	j.tell(stream)
	j.write(stream, line)
	return true
}

// tell says how many lines were left out since the last one that was written.
func (j *journal) tell(stream string) {
	if j.dropped > 0 {
		j.write(stream, fmt.Sprintf("[%d lines left out: more than %d a second]", j.dropped, perSec))
		j.dropped = 0
	}
}

// end gives the last lines, oldest first.
func (j *journal) end() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tell("engine")
	return append(append(make([]string, 0, len(j.tail)), j.tail[j.next:]...), j.tail[:j.next]...)
}

// sign is when the process last said something.
func (j *journal) sign() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}
