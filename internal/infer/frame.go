package infer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// Front and worker talk in frames over a stream: a block of fixed size, so that
// one read gets nearly every frame whole; what its body has beyond the block;
// then the bytes of those tensors that do not lie in shared memory. All numbers
// are little endian. The first four bytes never change their meaning:
//
//	0 "AW"  2 version  3 kind  4 uint32 bytes of body  8 uint64 id  16 uint64 bytes of tensors  24 body
const (
	frameVersion = 1
	frameBlock   = 256
	frameHead    = 24
	frameBody    = 1 << 20 // most bytes of a body: the description of a large model
	frameBytes   = 4 << 30 // most bytes of tensors behind a frame
	maxRank      = math.MaxUint8
)

// kind says what a frame is; to the right its body.
type kind uint8

const (
	helloKind   kind = iota + 1 // front: JSON of hello; the shared memory travels along
	welcomeKind                 // worker: JSON of welcome
	runKind                     // front: order
	answerKind                  // worker: answer
	failureKind                 // worker: JSON of *Error
	cancelKind                  // front: none; id is that of the run
	probeKind                   // front: none
	aliveKind                   // worker: none
	kinds
)

// hello is the front's first frame on a connection.
type hello struct {
	Model string `json:"model"`
	Arena int64  `json:"arena"` // bytes of shared memory that come along
}

// welcome is the worker's answer.
type welcome struct {
	Description Description `json:"description"`
	Costs       []Cost      `json:"costs"`
	PID         int         `json:"pid"`
	Lends       bool        `json:"lends"`     // the backend has memory of its own for what comes through the socket
	MaxBytes    int64       `json:"max_bytes"` // of the tensors of one frame
}

// inline is the place of a tensor whose bytes follow the frame.
const inline = -1

// span is one tensor of a frame. at is its place in shared memory, or inline.
type span struct {
	port  int // of an output asked for: index in the signature
	dtype ascend.DType
	shape []int64
	at    int64
	size  int64 // of an output asked for: the room there is
}

// order is the body of a run. Inputs come in the order of the signature with
// the types it tells.
type order struct {
	left            time.Duration // until the deadline; 0: none
	gear            int
	alloc           bool // an output may be longer than its room
	inputs, outputs []span
}

// answer is the body of a run's result; outputs in the order asked for.
type answer struct {
	times   Times
	moved   Moved
	outputs []span
}

// errFrame is every frame that cannot be understood.
var errFrame = errors.New("not a frame of this protocol")

func badFrame(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errFrame, fmt.Sprintf(format, args...))
}

// head is what a frame says before its body.
type head struct {
	kind  kind
	id    uint64
	bytes int64 // of tensors behind the frame
}

// link sends and receives frames on one connection. One goroutine may send and
// another receive.
type link struct {
	conn    net.Conn
	in, out []byte
	vec     net.Buffers
}

func newLink(c net.Conn) *link {
	return &link{conn: c, in: make([]byte, frameBlock), out: make([]byte, frameBlock)}
}

// begin gives a buffer to append the body of the next frame to.
func (l *link) begin() []byte { return l.out[:frameHead] }

// send writes a frame, whose body was appended to begin's buffer, and tensors.
func (l *link) send(h head, buf []byte, tensors ...[]byte) error {
	if len(buf)-frameHead > frameBody {
		return badFrame("a body of %d bytes, the most is %d", len(buf)-frameHead, frameBody)
	}
	buf = seal(h, buf)
	l.out = buf
	l.vec = append(l.vec[:0], buf)
	for _, t := range tensors {
		if len(t) > 0 {
			l.vec = append(l.vec, t)
		}
	}
	rest := l.vec // WriteTo eats the slice it is called on
	_, err := rest.WriteTo(l.conn)
	clear(l.vec)
	return err
}

// seal fills in the head and pads the frame to a block.
func seal(h head, buf []byte) []byte {
	copy(buf, "AW")
	buf[2], buf[3] = frameVersion, byte(h.kind)
	binary.LittleEndian.PutUint32(buf[4:], uint32(len(buf)-frameHead))
	binary.LittleEndian.PutUint64(buf[8:], h.id)
	binary.LittleEndian.PutUint64(buf[16:], uint64(h.bytes))
	if len(buf) < frameBlock {
		var zeros [frameBlock]byte
		buf = append(buf, zeros[len(buf):]...)
	}
	return buf
}

// receive reads a frame but not its tensors; body is valid until the next.
// The error wraps errFrame when the other side does not keep the protocol, else
// it is the connection's.
func (l *link) receive() (h head, body []byte, err error) {
	if _, err := io.ReadFull(l.conn, l.in[:frameBlock]); err != nil {
		return head{}, nil, err
	}
	return l.rest()
}

// rest is receive for a block that was read already.
func (l *link) rest() (h head, body []byte, err error) {
	h, size, err := readHead(l.in)
	if err != nil {
		return head{}, nil, err
	}
	if end := frameHead + size; end > frameBlock {
		if end > len(l.in) {
			l.in = append(make([]byte, 0, end), l.in[:frameBlock]...)[:end]
		}
		if _, err := io.ReadFull(l.conn, l.in[frameBlock:end]); err != nil {
			return head{}, nil, err
		}
	}
	return h, l.in[frameHead : frameHead+size], nil
}

// readHead checks a block and gives the bytes of its body.
func readHead(b []byte) (h head, size int, err error) {
	if len(b) < frameBlock || b[0] != 'A' || b[1] != 'W' {
		return head{}, 0, badFrame("it begins with %q", b[:min(len(b), 4)])
	}
	if b[2] != frameVersion {
		return head{}, 0, badFrame("version %d, this side speaks %d", b[2], frameVersion)
	}
	h = head{kind(b[3]), binary.LittleEndian.Uint64(b[8:]), int64(binary.LittleEndian.Uint64(b[16:]))}
	body := binary.LittleEndian.Uint32(b[4:])
	switch {
	case h.kind == 0 || h.kind >= kinds:
		return head{}, 0, badFrame("kind %d", h.kind)
	case body > frameBody:
		return head{}, 0, badFrame("a body of %d bytes, the most is %d", body, frameBody)
	case h.bytes < 0 || h.bytes > frameBytes || h.bytes > 0 && h.kind != runKind && h.kind != answerKind:
		return head{}, 0, badFrame("%d bytes of tensors behind kind %d", h.bytes, h.kind)
	}
	return h, int(body), nil
}

// sendJSON sends a body that is not worth a form of its own.
func (l *link) sendJSON(h head, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.send(h, append(l.begin(), text...))
}

func fromJSON(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return badFrame("%v", err)
	}
	return nil
}
