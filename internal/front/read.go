package front

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"math/bits"
	"net/http"
	"strings"
	"sync"
)

// ReadBody reads the whole body of r, decompressed (Content-Encoding gzip or
// deflate), within the server's limits. body is valid until release, which is
// never nil. Errors are *Error: 413 too large, 415 another encoding, 400 the
// rest.
func ReadBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	x := exchangeOf(r)
	if x == nil { // outside a Server: its default limits
		var own *http.Request
		x, own = New(Options{}).begin(w, r)
		r.Body = own.Body
	}
	s := x.server
	buf, n, err := s.readBody(x, r)
	if err != nil {
		s.buffers.put(buf)
		return nil, func() {}, err
	}
	return buf[:n], func() { s.buffers.put(buf) }, nil
}

// Moved is how many bytes of a body that ReadBody has read were copied because
// more came than there was room for: none where less than 1 MiB was announced.
func Moved(r *http.Request) int64 {
	if x := exchangeOf(r); x != nil {
		return x.moved
	}
	return 0
}

func (s *Server) readBody(x *exchange, r *http.Request) (buf []byte, n int, err error) {
	coding, err := contentCoding(r.Header)
	switch {
	case err != nil:
		x.Header().Set("Accept-Encoding", "gzip, deflate")
		return nil, 0, err
	case r.ContentLength > s.o.MaxBody:
		return nil, 0, tooLarge(s.o.MaxBody)
	case r.Body == nil || r.ContentLength == 0:
		return nil, 0, nil
	case coding == "":
		return s.fill(r.Body, r.ContentLength, &x.moved)
	}
	d, _ := s.decoders.Get().(*decoder)
	if d == nil {
		d = &decoder{in: bufio.NewReader(nil)}
	}
	defer s.decoders.Put(d)
	if buf, n, err = s.decode(d, coding, r.Body, &x.moved); err != nil && x.body.err != nil && x.body.err != io.EOF {
		err = x.body.err // the wire broke, not the coding
	}
	return buf, n, err
}

// contentCoding gives "", "gzip" or "deflate" (RFC 9110 section 8.4.1).
func contentCoding(h http.Header) (string, error) {
	switch c := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ", "))); c {
	case "", "identity":
		return "", nil
	case "gzip", "x-gzip":
		return "gzip", nil
	case "deflate":
		return c, nil
	default:
		return "", &Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_encoding", Msg: "Content-Encoding " + clip(c, 64) + " is not read here; gzip and deflate are"}
	}
}

// fill reads src to its end; size is what was announced, or -1. An announced
// size is only believed as far as bytes have come; moved counts those that had
// to be copied into a larger buffer.
func (s *Server) fill(src io.Reader, size int64, moved *int64) (buf []byte, n int, err error) {
	size++ // room to see that it ends
	buf = s.buffers.get(min(max(size, 4<<10), 1<<20, s.o.MaxBody))
	for {
		if n == len(buf) && int64(n) < s.o.MaxBody {
			next := min(max(int64(n)*2, min(size, int64(n)*16)), s.o.MaxBody)
			more := s.buffers.get(next)
			*moved += int64(copy(more, buf))
			s.buffers.put(buf)
			buf = more
		}
		room := buf[n:min(int64(len(buf)), s.o.MaxBody)]
		var probe [1]byte
		if len(room) == 0 {
			room = probe[:] // full: only the end may come now
		}
		m, err := src.Read(room)
		if m > 0 && int64(n) == s.o.MaxBody {
			return buf, n, tooLarge(s.o.MaxBody)
		}
		n += m
		if err == io.EOF {
			return buf, n, nil
		}
		if err != nil {
			return buf, n, err
		}
	}
}

// decoder keeps what decompression allocates.
type decoder struct {
	in   *bufio.Reader
	gzip *gzip.Reader
	zlib io.ReadCloser
	raw  io.ReadCloser
}

func (s *Server) decode(d *decoder, coding string, src io.Reader, moved *int64) (buf []byte, n int, err error) {
	d.in.Reset(src)
	defer d.in.Reset(nil)
	plain, err := d.open(coding)
	if err == nil {
		buf, n, err = s.fill(plain, -1, moved)
	}
	if err == nil {
		if _, end := d.in.ReadByte(); end != io.EOF {
			err = errors.New("more bytes after its end")
		}
	}
	var known *Error
	if err != nil && !errors.As(err, &known) {
		err = &Error{Status: http.StatusBadRequest, Code: "bad_body", Msg: "the request body is not valid " + coding + ": " + err.Error(), Err: err}
	}
	return buf, n, err
}

// open starts decompression of d.in. By RFC 9110 deflate means the zlib
// format, but some clients send the bare stream; the two can be told apart by
// the zlib header (RFC 1950 section 2.2).
func (d *decoder) open(coding string) (io.Reader, error) {
	var err error
	if coding == "gzip" {
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		return d.gzip, d.gzip.Reset(d.in)
	}
	head, _ := d.in.Peek(2)
	if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		if d.zlib == nil {
			d.zlib, err = zlib.NewReader(d.in)
			return d.zlib, err
		}
		return d.zlib, d.zlib.(zlib.Resetter).Reset(d.in, nil)
	}
	if d.raw == nil {
		d.raw = flate.NewReader(d.in)
		return d.raw, nil
	}
	return d.raw, d.raw.(flate.Resetter).Reset(d.in, nil)
}

// buffers are pools of byte slices by size: powers of two from 4 KiB on.
type buffers [64]sync.Pool

// get gives a slice of at least n bytes and at most twice that (4 KiB at
// least), with old contents.
func (p *buffers) get(n int64) []byte {
	class := bits.Len64(uint64(max(n, 4<<10) - 1))
	if b, ok := p[class].Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 1<<class)
}

// put takes back a slice of get; nil is fine.
func (p *buffers) put(b []byte) {
	if b != nil {
		p[bits.Len64(uint64(len(b)-1))].Put(&b)
	}
}
