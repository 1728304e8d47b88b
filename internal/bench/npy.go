package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// maxNPYHeader bounds the text header; NumPy itself writes a few hundred bytes.
const maxNPYHeader = 64 << 10

// maxRank is NumPy's own bound of dims.
const maxRank = 64

// npyTypes are the descr words that have a tensor type, without byte order
// (source: numpy.dtype.str).
var npyTypes = map[string]ascend.DType{
	"b1": ascend.Bool,
	"i1": ascend.Int8, "i2": ascend.Int16, "i4": ascend.Int32, "i8": ascend.Int64,
	"u1": ascend.Uint8, "u2": ascend.Uint16, "u4": ascend.Uint32, "u8": ascend.Uint64,
	"f2": ascend.Float16, "f4": ascend.Float, "f8": ascend.Double,
}

// ReadNPY reads one array in NumPy's format 1.0, 2.0 or 3.0, little endian and
// in C order (source: numpy.lib.format). Name names the file in errors, which
// say what was expected and what came; the tensor itself has no name. Memory
// grows with the data that is really there, not with what the header claims.
func ReadNPY(name string, r io.Reader) (oip.Tensor, error) {
	t, err := readNPY(r)
	if err != nil {
		return oip.Tensor{}, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func readNPY(r io.Reader) (oip.Tensor, error) {
	header, err := npyHeader(r)
	if err != nil {
		return oip.Tensor{}, err
	}
	t, err := describe(header)
	if err != nil {
		return oip.Tensor{}, fmt.Errorf("header %q: %w", shorten(header), err)
	}
	n, ok := ascend.Elements(t.Shape)
	size, fits := t.DType.Size(n)
	if !ok || !fits {
		return oip.Tensor{}, fmt.Errorf("shape %v of %s is too large", t.Shape, t.DType)
	}
	var data bytes.Buffer
	got, err := io.Copy(&data, io.LimitReader(r, size))
	if err != nil {
		return oip.Tensor{}, err
	}
	if got != size {
		return oip.Tensor{}, fmt.Errorf("cut off: expected %d bytes of data for shape %v of %s, got %d", size, t.Shape, t.DType, got)
	}
	var more [1]byte
	if n, _ := io.ReadFull(r, more[:]); n > 0 {
		return oip.Tensor{}, fmt.Errorf("expected %d bytes of data for shape %v of %s, got more", size, t.Shape, t.DType)
	}
	t.Data = data.Bytes()
	return t, nil
}

// npyHeader reads up to the data and gives the text that describes them.
func npyHeader(r io.Reader) (string, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:8]); err != nil || string(head[:6]) != "\x93NUMPY" {
		return "", errors.New(`not a NumPy file: expected \x93NUMPY at its beginning`)
	}
	width := 4
	switch head[6] {
	case 1:
		width = 2
	case 2, 3:
	default:
		return "", fmt.Errorf("NumPy format %d.%d: expected 1.0, 2.0 or 3.0", head[6], head[7])
	}
	if _, err := io.ReadFull(r, head[8:8+width]); err != nil {
		return "", errors.New("cut off in the header")
	}
	size := binary.LittleEndian.Uint32(head[8:12])
	if size > maxNPYHeader {
		return "", fmt.Errorf("header of %d bytes: expected at most %d", size, maxNPYHeader)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", errors.New("cut off in the header")
	}
	return string(text), nil
}

// describe reads the header, a Python dict literal with the keys descr,
// fortran_order and shape.
func describe(header string) (t oip.Tensor, err error) {
	p := literal{rest: strings.TrimRight(header, " \n")}
	p.take("{")
	seen := map[string]bool{}
	for !p.bad && !p.peek("}") {
		key := p.text()
		if p.take(":"); p.bad {
			break
		}
		if seen[key] {
			return t, fmt.Errorf("key %q stands twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			if t.DType, err = npyType(p.text()); err != nil {
				return t, err
			}
		case "fortran_order":
			if p.word() != "False" {
				return t, errors.New("fortran_order: expected False; save it with numpy.ascontiguousarray")
			}
		case "shape":
			t.Shape = p.tuple()
		default:
			return t, fmt.Errorf("unknown key %q", key)
		}
		if !p.peek(",") {
			break
		}
		p.take(",")
	}
	p.take("}")
	if p.bad || p.rest != "" {
		return t, fmt.Errorf("expected a dict of descr, fortran_order and shape, stopped at %q", shorten(p.rest))
	}
	if len(seen) != 3 {
		return t, errors.New("expected the keys descr, fortran_order and shape")
	}
	return t, nil
}

func npyType(descr string) (ascend.DType, error) {
	if descr != "" && strings.ContainsRune("<|", rune(descr[0])) {
		if d, ok := npyTypes[descr[1:]]; ok && (descr[0] == '<' || descr[2:] == "1") {
			return d, nil
		}
	}
	if strings.HasPrefix(descr, ">") {
		return 0, fmt.Errorf("descr %q: expected little endian (<); save it with astype(dtype.newbyteorder('<'))", descr)
	}
	return 0, fmt.Errorf("descr %q: expected a number or bool of 1 to 8 bytes like <f4 or <i8", shorten(descr))
}

// literal reads the few forms of a Python literal that a header has. After the
// first mismatch bad is set, rest stays where it was, and all reads are empty.
type literal struct {
	rest string
	bad  bool
}

func (p *literal) peek(mark string) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	return strings.HasPrefix(p.rest, mark)
}

func (p *literal) take(mark string) {
	if p.bad = p.bad || !p.peek(mark); !p.bad {
		p.rest = p.rest[len(mark):]
	}
}

// text is a string in either kind of quotes, without escapes.
func (p *literal) text() string {
	quote := "'"
	if p.peek(`"`) {
		quote = `"`
	}
	p.take(quote)
	s, rest, ok := strings.Cut(p.rest, quote)
	if p.bad = p.bad || !ok || strings.Contains(s, `\`); p.bad {
		return ""
	}
	p.rest = rest
	return s
}

// word is a run of letters or digits.
func (p *literal) word() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	n := 0
	for n < len(p.rest) && (p.rest[n]|0x20 >= 'a' && p.rest[n]|0x20 <= 'z' || p.rest[n] >= '0' && p.rest[n] <= '9') {
		n++
	}
	if p.bad = p.bad || n == 0; p.bad {
		return ""
	}
	s := p.rest[:n]
	p.rest = p.rest[n:]
	return s
}

// tuple is (), (3,) or (360, 1, 8, 8); an L behind a number is Python 2's.
func (p *literal) tuple() []int64 {
	dims := []int64{}
	p.take("(")
	for !p.bad && !p.peek(")") {
		n, err := strconv.ParseInt(strings.TrimSuffix(p.word(), "L"), 10, 64)
		if p.bad = p.bad || err != nil || n < 0 || len(dims) == maxRank; p.bad {
			return nil
		}
		dims = append(dims, n)
		if !p.peek(")") {
			p.take(",")
		}
	}
	p.take(")")
	return dims
}

func shorten(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
