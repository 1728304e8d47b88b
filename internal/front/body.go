package front

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// body is a request body within the server's limits of size and time. Its
// errors are *Error and stay.
type body struct {
	x       *exchange
	src     io.ReadCloser
	n       int64 // bytes read from the wire
	size    int64 // as announced, -1 when it was not
	start   time.Time
	renewed int64 // n when the deadline was set
	asks    bool  // the client waits for 100 Continue before it sends
	err     error
}

func (b *body) open(x *exchange, r *http.Request) {
	b.x, b.src, b.size, b.start = x, r.Body, r.ContentLength, time.Now()
	b.asks = r.Header.Get("Expect") != ""
	if b.asks {
		x.arm(0) // 100 Continue is a write, and the last deadline may be long past
	}
	// Also for a body that no handler reads: net/http itself looks for its end.
	b.deadline(b.start.Add(x.server.o.BodyTimeout))
}

func (b *body) deadline(t time.Time) {
	_ = http.NewResponseController(b.x.ResponseWriter).SetReadDeadline(t)
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	limit := b.x.server.o.MaxBody
	if room := limit + 1 - b.n; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := b.read(p)
	if b.n > limit && (err == nil || err == io.EOF) {
		n, err = n-1, tooLarge(limit)
	}
	b.err = err
	return n, err
}

// read is Read without the limit of size. Each byte that arrives earns the
// client time, so a trickle ends soon and a large body on a slow line does not.
func (b *body) read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	b.n += int64(n)
	b.asks = b.asks && n == 0 && err == nil
	o := &b.x.server.o
	switch {
	case err == io.EOF:
		// From here net/http reads ahead to see the client leave; a deadline
		// would look like that.
		b.deadline(time.Time{})
	case err != nil:
		err = b.explain(err)
	case o.span(b.n-b.renewed) > o.BodyTimeout/8:
		b.renewed = b.n
		b.deadline(b.start.Add(o.BodyTimeout + o.span(b.n)))
	}
	return n, err
}

func (b *body) Close() error { return b.src.Close() }

func (b *body) explain(err error) *Error {
	e := &Error{Status: http.StatusBadRequest, Code: "bad_body", Msg: "the request body cannot be read: " + err.Error(), Err: err}
	var lost net.Error
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		e.Code = "body_timeout"
		e.Msg = fmt.Sprintf("the request body came too slowly: %d bytes in %s", b.n, time.Since(b.start).Round(time.Millisecond))
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &lost):
		b.x.gone = true
		e.Code = "body_truncated"
		e.Msg = fmt.Sprintf("the request body ended early, after %d bytes", b.n)
	}
	return e
}

func tooLarge(limit int64) *Error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Msg: fmt.Sprintf("the request body is larger than %d bytes", limit)}
}

// finish reads what is left of a body that nobody wants, before the answer: the
// client sees it, and can use the connection again. When that would be more
// than a whole body, or the client still waits to be asked for it, the
// connection is closed instead. net/http would do the same for a short rest,
// but after the write deadline was set, which could then pass meanwhile.
func (b *body) finish() {
	if b.src == nil || b.err == io.EOF {
		return
	}
	limit := 2 * b.x.server.o.MaxBody
	if !b.asks && b.size <= limit {
		scrap := b.x.server.buffers.get(32 << 10)
		defer b.x.server.buffers.put(scrap)
		for b.n <= limit {
			if _, err := b.read(scrap); err == io.EOF {
				return
			} else if err != nil {
				break
			}
		}
	}
	b.x.Header().Set("Connection", "close")
}
