package oip

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep JSON may nest, and with that our stack: the
// protocol itself needs 4 levels and its data as many as a shape has dims.
const maxDepth = 64

// scanner reads one JSON text (RFC 8259) in place, without a tree: a request
// is mostly numbers that go straight into a tensor. It is stricter than
// encoding/json, because what is served must mean the same to every reader:
// keys are case sensitive, strings must be UTF-8 without lone surrogates.
//
// The first failure sticks: after it there is nothing left to read, all
// methods return at once, and err says why. So callers look at err once.
type scanner struct {
	b      []byte
	i      int
	depth  int
	status int    // of errors
	what   string // "request" or "response"
	of     string // "input" or "output" while its data is read
	name   string // and its name
	err    *Error
}

// refuse takes an error that was made elsewhere; nil is none.
func (s *scanner) refuse(e *Error) {
	if e == nil || s.err != nil {
		return
	}
	s.err = e
	s.b, s.i = nil, 0
}

func (s *scanner) fail(code, format string, args ...any) {
	if s.err != nil {
		return
	}
	msg := fmt.Sprintf("%s JSON, byte %d: ", s.what, s.i)
	if s.of != "" {
		msg += s.of + " " + quoted(s.name) + ": "
	}
	s.refuse(&Error{s.status, code, msg + fmt.Sprintf(format, args...)})
}

// expected fails with what stands at the cursor.
func (s *scanner) expected(what string) {
	got := "the end"
	if s.i < len(s.b) {
		r, _ := utf8.DecodeRune(s.b[s.i:])
		got = fmt.Sprintf("%q", r)
	}
	s.fail(codeJSON, "expected %s, got %s", what, got)
}

// peek is the first byte of the next token; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

// end makes sure that only white space is left.
func (s *scanner) end() {
	if s.peek(); s.i < len(s.b) {
		s.expected("the end of the JSON")
	}
}

func (s *scanner) open(c byte, what string) bool {
	if s.peek() != c {
		s.expected(what)
		return false
	}
	if s.i++; s.depth == maxDepth {
		s.fail(codeJSON, "nested deeper than %d", maxDepth)
		return false
	}
	s.depth++
	return true
}

// more moves to the next member; at the close it takes that and is false.
func (s *scanner) more(first bool, close byte, what string) bool {
	switch c := s.peek(); {
	case c == close && c != 0:
		s.i++
		s.depth--
		return false
	case first:
		return s.err == nil
	case c == ',':
		s.i++
		return true
	}
	s.expected(what)
	return false
}

// fields goes over an object; the loop's body must read the value of each key.
func (s *scanner) fields(yield func(key []byte) bool) {
	if !s.open('{', "an object") {
		return
	}
	for first := true; s.more(first, '}', "',' or '}'"); first = false {
		key := s.text("a key in quotes")
		if s.peek() != ':' {
			s.expected("':'")
			return
		}
		if s.i++; !yield(key) {
			return
		}
	}
}

// items goes over an array; the loop's body must read each value.
func (s *scanner) items(yield func() bool) {
	if !s.open('[', "an array") {
		return
	}
	for first := true; s.more(first, ']', "',' or ']'"); first = false {
		if !yield() {
			return
		}
	}
}

// once fails where a key that means something stands twice in its object:
// readers disagree about which one counts.
func (s *scanner) once(seen *uint16, bit uint16, key []byte) {
	if *seen&bit != 0 {
		s.fail(codeJSON, "key %s stands twice", quoted(key))
	}
	*seen |= bit
}

// null takes a null if there is one. Clients write it for what they leave out.
func (s *scanner) null() bool { return s.peek() == 'n' && s.word("null") }

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		s.expected("a value")
		return false
	}
	s.i += len(w)
	return true
}

// boolean reads true or false; what is the expectation for the message.
func (s *scanner) boolean(what string) bool {
	switch s.peek() {
	case 't':
		return s.word("true")
	case 'f':
		s.word("false")
	default:
		s.expected(what)
	}
	return false
}

// number reads a number and gives its text; whole is true where it has
// neither fraction nor exponent.
func (s *scanner) number() (text []byte, whole bool) {
	c := s.peek()
	start := s.i
	if c == '-' {
		s.i++
	}
	if s.i < len(s.b) && (s.b[s.i] == 'N' || s.b[s.i] == 'I') {
		s.i = start
		s.fail(codeNonfinite, "JSON has no NaN or Infinity: use binary data")
		return nil, false
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if !s.digits("a number") {
		return nil, false
	}
	whole = true
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if whole = false; !s.digits("a digit") {
			return nil, false
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		if s.i++; s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if whole = false; !s.digits("a digit") {
			return nil, false
		}
	}
	return s.b[start:s.i], whole
}

func (s *scanner) digits(what string) bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	if s.i == start {
		s.expected(what)
		return false
	}
	return true
}

// text reads a string. It lies in the input where that has no escapes.
func (s *scanner) text(what string) []byte {
	if s.peek() != '"' {
		s.expected(what)
		return nil
	}
	s.i++
	start, ascii := s.i, true
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			t := s.b[start:s.i:s.i]
			if !ascii && !utf8.Valid(t) {
				s.fail(codeJSON, "a string that is not UTF-8")
				return nil
			}
			s.i++
			return t
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			s.expected("no control character in a string")
			return nil
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.expected("'\"'")
	return nil
}

// escaped reads on from the first backslash of a string that began at start.
func (s *scanner) escaped(start int) []byte {
	t := append([]byte(nil), s.b[start:s.i]...)
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			if !utf8.Valid(t) {
				s.fail(codeJSON, "a string that is not UTF-8")
				return nil
			}
			s.i++
			return t
		case c == '\\':
			t = s.escape(t)
		case c < ' ':
			s.expected("no control character in a string")
			return nil
		default:
			t = append(t, c)
			s.i++
		}
	}
	s.expected("'\"'")
	return nil
}

// escape reads one escape sequence.
func (s *scanner) escape(dst []byte) []byte {
	if s.i++; s.i == len(s.b) {
		s.expected("an escape")
		return dst
	}
	c := s.b[s.i]
	s.i++
	switch c {
	case '"', '\\', '/':
		return append(dst, c)
	case 'b':
		return append(dst, '\b')
	case 'f':
		return append(dst, '\f')
	case 'n':
		return append(dst, '\n')
	case 'r':
		return append(dst, '\r')
	case 't':
		return append(dst, '\t')
	case 'u':
		r := s.hex4()
		if utf16.IsSurrogate(r) {
			if len(s.b)-s.i > 2 && s.b[s.i] == '\\' && s.b[s.i+1] == 'u' {
				s.i += 2
				r = utf16.DecodeRune(r, s.hex4())
			} else {
				r = utf8.RuneError
			}
			if r == utf8.RuneError {
				s.fail(codeJSON, "half of a surrogate pair")
			}
		}
		return utf8.AppendRune(dst, r)
	}
	s.i--
	s.expected("an escape")
	return dst
}

func (s *scanner) hex4() (r rune) {
	for range 4 {
		if s.i == len(s.b) {
			s.expected("4 hexadecimal digits")
			return 0
		}
		switch c := s.b[s.i]; {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20-'a' <= 5:
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			s.expected("4 hexadecimal digits")
			return 0
		}
		s.i++
	}
	return r
}

// skip reads any value and forgets it.
func (s *scanner) skip() {
	switch s.peek() {
	case '{':
		for range s.fields {
			s.skip()
		}
	case '[':
		for range s.items {
			s.skip()
		}
	case '"':
		s.text("a string")
	case 't', 'f':
		s.boolean("a value")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
}

// later steps over a value that will be read from the offset it gives, when
// more is known about it. It looks only for the end: whether the value is
// JSON comes out when it is read.
func (s *scanner) later() (offset int) {
	c := s.peek()
	offset = s.i
	if c != '[' && c != '{' {
		s.skip()
		return offset
	}
	for open := 0; s.i < len(s.b); {
		switch s.b[s.i] {
		case '[', '{':
			open++
		case ']', '}':
			open--
		case '"':
			s.text("a string")
			continue
		}
		if s.i++; open == 0 {
			return offset
		}
	}
	s.expected("']' or '}'")
	return offset
}
