//go:build cgo && linux

package cmd_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// client sends requests on a connection of its own and knows the answers: a
// model of the tests gives back its rows. It costs a fraction of net/http's, and
// sees an answer that nobody asked for.
type client struct {
	addr string
	rng  *rand.Rand
	conn net.Conn // nil: none
	in   *bufio.Reader
	data []byte
	out  []byte
}

func newClient(url string, seed uint64) *client {
	return &client{addr: strings.TrimPrefix(url, "http://"), rng: rand.New(rand.NewPCG(seed, 7))}
}

// leave ends the connection.
func (c *client) leave() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// ask sends rows and gives the status; an answer with any other content than
// what was sent is an error. After patience, where that is not 0, it leaves with
// os.ErrDeadlineExceeded.
func (c *client) ask(patience time.Duration, rows int) (status int, err error) {
	c.data = c.data[:0]
	for range 4 * rows { // numbers around 0.5, none of them NaN
		n := c.rng.Uint32()
		c.data = append(c.data, byte(n), byte(n>>8), byte(n>>16), 0x3f)
	}
	req := oip.Request{ID: strconv.FormatUint(c.rng.Uint64(), 36), Inputs: []oip.Tensor{{Name: "x", DType: ascend.Float, Shape: []int64{int64(rows), 4}, Data: c.data}}}
	head, body, err := c.post(patience, &req)
	if err != nil {
		c.leave()
		return 0, err
	}
	if head.StatusCode != http.StatusOK {
		if word := head.Header.Get("X-Ascendctl-Error"); word == "" {
			return head.StatusCode, fmt.Errorf("status %d without a word: %s", head.StatusCode, body)
		}
		return head.StatusCode, nil
	}
	got, err := oip.DecodeResponse(body, head.Header.Get(oip.HeaderLength))
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, body)
	}
	if got.ID != req.ID || len(got.Outputs) != 1 || !bytes.Equal(got.Outputs[0].Data, c.data) || head.Header.Get("X-Ascendctl-Simulated") != "true" {
		return head.StatusCode, fmt.Errorf("a wrong answer: %+v", got)
	}
	return head.StatusCode, nil
}

// post sends a request, three of four as binary data, and reads its answer.
func (c *client) post(patience time.Duration, req *oip.Request) (*http.Response, []byte, error) {
	body, head, err := oip.AppendRequest(c.out[:0], req, c.rng.IntN(4) > 0)
	if err != nil {
		return nil, nil, err
	}
	c.out = body
	begin := time.Now()
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", c.addr); err != nil {
			return nil, nil, err
		}
		c.in = bufio.NewReader(c.conn)
	}
	if patience == 0 {
		patience = time.Minute
	}
	_ = c.conn.SetDeadline(begin.Add(patience))
	binary := ""
	if head >= 0 {
		binary = fmt.Sprintf("%s: %d\r\n", oip.HeaderLength, head)
	}
	bufs := net.Buffers{fmt.Appendf(nil, "POST /v2/models/model/infer HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n", binary, len(body)), body}
	if _, err := bufs.WriteTo(c.conn); err != nil {
		return nil, nil, err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil && c.in.Buffered() > 0 {
		err = errors.New("more than one answer")
	}
	if resp.Close {
		c.leave()
	}
	return resp, text, err
}
