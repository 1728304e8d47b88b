package serve

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// TestABodyThatWasCopiedRunsAlone: bytes of a tensor that had to be copied while
// they came are counted, and not laid beside others, which would copy them again.
func TestABodyThatWasCopiedRunsAlone(t *testing.T) {
	const width = 1 << 12
	f := &fake{sig: vectors(ascend.Float, width)}
	r := newRig(t, Config{Models: []Model{loaded("m", f)}}, front.Options{})
	f.mu.Lock()
	f.gate, f.batches = make(chan struct{}), nil
	f.mu.Unlock()
	body, head, err := oip.AppendRequest(nil, &oip.Request{Inputs: []oip.Tensor{{Name: "x", DType: ascend.Float, Shape: []int64{1, width}, Data: make([]byte, 4*width)}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 3)
	send := func(announced bool) {
		var from io.Reader = bytes.NewReader(body)
		if !announced {
			from = io.MultiReader(from)
		}
		req, err := http.NewRequest(http.MethodPost, r.url+"/v2/models/m/infer", from)
		if err == nil {
			req.Header.Set(oip.HeaderLength, strconv.Itoa(head))
			var resp *http.Response
			if resp, err = http.DefaultTransport.RoundTrip(req); err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
		answers <- err
	}
	go send(true)
	f.began(t, 1)
	before := r.sum("ascendctl_infer_copied_bytes_total", "direction", "in")
	go send(false)
	r.queued(1)
	go send(false)
	r.queued(2)
	close(f.gate)
	for range 3 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if ran := f.ran(); len(ran) != 3 {
		t.Errorf("batches of %v rows", ran)
	}
	if got := r.sum("ascendctl_infer_copied_bytes_total", "direction", "in") - before; got < 4*width || got > 2*2*float64(len(body)) {
		t.Errorf("%.0f bytes counted of two bodies of %d", got, len(body))
	}
}
