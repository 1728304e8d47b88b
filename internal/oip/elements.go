package oip

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

var little = binary.LittleEndian

// elements reads a data array, flat or nested exactly as the shape is, and
// gives the n elements in binary form. Room is made for what the text can
// hold, not for what the shape claims.
func (s *scanner) elements(d ascend.DType, shape []int64, n int64) []byte {
	var room int64
	if size, ok := d.Size(1); ok {
		room = min(n, int64(len(s.b)-s.i)/2+1) * size
	}
	dst := make([]byte, 0, room)
	if s.nests() {
		return s.nested(d, shape, dst)
	}
	var got int64
	for range s.items {
		if got++; got > n {
			s.skip() // counted on, for the message
			continue
		}
		dst = s.element(d, dst)
	}
	if got != n {
		s.fail(codeLength, "expected %d elements for shape %s, got %d", n, dims(shape), got)
	}
	return dst
}

// nests looks ahead: a list of lists, or no list at all, is nested.
func (s *scanner) nests() bool {
	if s.peek() != '[' {
		return true
	}
	ahead := *s
	ahead.i++
	return ahead.peek() == '['
}

func (s *scanner) nested(d ascend.DType, shape []int64, dst []byte) []byte {
	if len(shape) == 0 {
		return s.element(d, dst)
	}
	var got int64
	for range s.items {
		if got++; got > shape[0] {
			s.fail(codeLength, "nested data: expected a list of %d, got more", shape[0])
			break
		}
		dst = s.nested(d, shape[1:], dst)
	}
	if got != shape[0] {
		s.fail(codeLength, "nested data: expected a list of %d, got %d", shape[0], got)
	}
	return dst
}

// element reads one element. Nothing is rounded but decimals to the nearest
// float: a fraction or exponent where a whole number belongs, even 1.0, and
// what is out of range are errors. BOOL takes true, false, 1 and 0.
func (s *scanner) element(d ascend.DType, dst []byte) []byte {
	switch d {
	case ascend.Float:
		return little.AppendUint32(dst, math.Float32bits(float32(s.float(32))))
	case ascend.Double:
		return little.AppendUint64(dst, math.Float64bits(s.float(64)))
	case ascend.Bool:
		return append(dst, s.flag())
	case ascend.Int8:
		return append(dst, byte(s.signed(8)))
	case ascend.Int16:
		return little.AppendUint16(dst, uint16(s.signed(16)))
	case ascend.Int32:
		return little.AppendUint32(dst, uint32(s.signed(32)))
	case ascend.Int64:
		return little.AppendUint64(dst, uint64(s.signed(64)))
	case ascend.Uint8:
		return append(dst, byte(s.unsigned(8)))
	case ascend.Uint16:
		return little.AppendUint16(dst, uint16(s.unsigned(16)))
	case ascend.Uint32:
		return little.AppendUint32(dst, uint32(s.unsigned(32)))
	case ascend.Uint64:
		return little.AppendUint64(dst, s.unsigned(64))
	case ascend.String:
		t := s.text("a string")
		return append(little.AppendUint32(dst, uint32(len(t))), t...)
	}
	word, _ := Datatype(d)
	s.fail(codeDatatype, "%s has no JSON form: use binary data", word)
	return dst
}

func (s *scanner) float(bits int) float64 {
	text, _ := s.number()
	if s.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(text), bits)
	if err != nil {
		s.fail(codeValue, "%s is out of range for FP%d", brief(text), bits)
	}
	return f
}

// whole reads a whole number: its sign and magnitude.
func (s *scanner) whole(kind string, bits int) (negative bool, magnitude uint64) {
	text, whole := s.number()
	if s.err != nil {
		return false, 0
	}
	if !whole {
		s.fail(codeValue, "expected a whole number for %s%d, got %s", kind, bits, brief(text))
		return false, 0
	}
	digits := text
	if digits[0] == '-' {
		negative, digits = true, digits[1:]
	}
	for _, c := range digits {
		v := uint64(c - '0')
		if magnitude > (math.MaxUint64-v)/10 {
			s.fail(codeValue, "%s is out of range for %s%d", brief(text), kind, bits)
			return false, 0
		}
		magnitude = magnitude*10 + v
	}
	return negative, magnitude
}

func (s *scanner) signed(bits int) int64 {
	negative, m := s.whole("INT", bits)
	limit := uint64(1) << (bits - 1)
	switch {
	case negative && m <= limit:
		return -int64(m) // right for -2^63 too: it wraps onto itself
	case !negative && m < limit:
		return int64(m)
	}
	s.fail(codeValue, "%s is out of range for INT%d", signedText(negative, m), bits)
	return 0
}

func (s *scanner) unsigned(bits int) uint64 {
	negative, m := s.whole("UINT", bits)
	if negative && m > 0 || bits < 64 && m>>bits > 0 {
		s.fail(codeValue, "%s is out of range for UINT%d", signedText(negative, m), bits)
		return 0
	}
	return m
}

func (s *scanner) flag() byte {
	switch s.peek() {
	case '0', '1':
		text, _ := s.number()
		if len(text) == 1 {
			return text[0] - '0'
		}
		s.fail(codeValue, "expected true, false, 1 or 0 for BOOL, got %s", brief(text))
		return 0
	}
	if s.boolean("true, false, 1 or 0") {
		return 1
	}
	return 0
}

func signedText(negative bool, m uint64) string {
	if negative {
		return "-" + strconv.FormatUint(m, 10)
	}
	return strconv.FormatUint(m, 10)
}

// brief is a number for a message.
func brief(text []byte) string {
	if len(text) > 40 {
		return string(text[:40]) + "..."
	}
	return string(text)
}

// appendElements writes the data of a tensor that fits as a flat JSON array.
// Floats get the fewest digits that read back the same.
func appendElements(dst []byte, t *Tensor) (out []byte, code, why string) {
	dst = append(dst, '[')
	fixed, _ := t.DType.Size(1) // 0 for BYTES
	finite := true
	for n, p := 0, t.Data; len(p) > 0; n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		size := fixed
		if t.DType == ascend.String {
			size = int64(little.Uint32(p))
			if p = p[4:]; !utf8.Valid(p[:size]) {
				return dst, codeValue, fmt.Sprintf("element %d is not UTF-8 and has no JSON form: use binary data", n)
			}
		}
		if dst, finite = appendElement(dst, t.DType, p[:size]); !finite {
			return dst, codeNonfinite, fmt.Sprintf("element %d is NaN or Inf, which JSON does not have: use binary data", n)
		}
		p = p[size:]
	}
	return append(dst, ']'), "", ""
}

func appendElement(dst []byte, d ascend.DType, p []byte) (out []byte, finite bool) {
	switch d {
	case ascend.Float:
		return appendFloat(dst, float64(math.Float32frombits(little.Uint32(p))), 32)
	case ascend.Double:
		return appendFloat(dst, math.Float64frombits(little.Uint64(p)), 64)
	case ascend.Bool:
		return strconv.AppendBool(dst, p[0] != 0), true
	case ascend.Int8:
		return strconv.AppendInt(dst, int64(int8(p[0])), 10), true
	case ascend.Int16:
		return strconv.AppendInt(dst, int64(int16(little.Uint16(p))), 10), true
	case ascend.Int32:
		return strconv.AppendInt(dst, int64(int32(little.Uint32(p))), 10), true
	case ascend.Int64:
		return strconv.AppendInt(dst, int64(little.Uint64(p)), 10), true
	case ascend.Uint8:
		return strconv.AppendUint(dst, uint64(p[0]), 10), true
	case ascend.Uint16:
		return strconv.AppendUint(dst, uint64(little.Uint16(p)), 10), true
	case ascend.Uint32:
		return strconv.AppendUint(dst, uint64(little.Uint32(p)), 10), true
	case ascend.Uint64:
		return strconv.AppendUint(dst, little.Uint64(p), 10), true
	}
	return appendText(dst, p), true
}

func appendFloat(dst []byte, f float64, bits int) (out []byte, finite bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, false
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits), true
}

// appendText writes a JSON string; what is not UTF-8 becomes U+FFFD.
func appendText[T string | []byte](dst []byte, text T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			dst = utf8.AppendRune(dst, r)
			i += size - 1
		}
	}
	return append(dst, '"')
}
