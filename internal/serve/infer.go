package serve

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// gone is the status of a request whose client left before the answer; only
// the access log sees it (source: nginx, which has no standard number either).
const gone = 499

// infer is POST v2/models/NAME/infer.
func (s *Service) infer(w http.ResponseWriter, r *http.Request, m *model) {
	start := s.now()
	l := m.live.Load()
	if l == nil {
		m.seen.answered(outcomeAway, start, nil)
		unavailable(w, errLoading)
		return
	}
	mark(w, l)
	body, release, err := front.ReadBody(w, r)
	defer release() // after do: the inputs lie in body
	if err != nil {
		m.seen.answered(outcomeInvalid, start, nil)
		front.FailErr(w, err)
		return
	}
	req, err := oip.DecodeRequest(body, r.Header.Get(oip.HeaderLength), l.info.Signature)
	if err != nil {
		s.refuse(w, r, m, start, "", err)
		return
	}
	j := &job{ctx: r.Context(), inputs: req.Inputs}
	resp := oip.Response{Model: m.Name, Version: version, ID: req.ID}
	resp.Binary = j.aim(l.info.Signature, req.Outputs)
	moved := int64(0) // of tensors: what is JSON is none yet
	if r.Header.Get(oip.HeaderLength) != "" {
		moved = front.Moved(r)
		m.seen.copiedIn.Add(float64(moved))
	}
	if m.seen.joins.Load() && moved == 0 { // else it would be copied once more
		j.rows = commonRows(req.Inputs)
	}
	stop, err := j.limit(req.Params)
	defer stop()
	if err == nil {
		err = l.queue.do(j)
	}
	if err == nil {
		defer j.release()
		resp.Outputs = j.outputs
		err = s.answer(w, &resp)
	}
	if err != nil {
		s.refuse(w, r, m, start, req.ID, err)
		return
	}
	m.seen.answered(outcomeOK, start, j)
	front.Note(r, slog.Int("batch", j.shared),
		slog.Int64("queue_us", j.waited.Microseconds()), slog.Int64("execute_us", j.took.Microseconds()))
}

// aim notes which outputs are wanted, and gives which of them as binary data.
func (j *job) aim(sig oip.Signature, wanted []oip.Wanted) (binary []bool) {
	j.want, j.outputs, binary = j.wantRoom[:0], j.outRoom[:0], j.binary[:0]
	for _, want := range wanted {
		binary = append(binary, want.Binary)
		for o := range sig.Outputs {
			if sig.Outputs[o].Name == want.Name {
				j.want = append(j.want, o)
			}
		}
	}
	return binary
}

// commonRows is axis 0 of all inputs; 0 where they differ or there is none,
// and such a request runs alone.
func commonRows(inputs []oip.Tensor) int {
	rows := inputs[0].Shape[0]
	for _, t := range inputs[1:] {
		if t.Shape[0] != rows {
			return 0
		}
	}
	if rows > math.MaxInt32 {
		return 0
	}
	return int(rows)
}

// limit bounds the time in the queue by the parameter timeout, microseconds
// (source: triton extension_schedule_policy.md; 0 is none).
func (j *job) limit(params map[string]any) (stop context.CancelFunc, err error) {
	j.wait = j.ctx
	v, given := params["timeout"]
	if !given {
		return func() {}, nil
	}
	us, ok := v.(int64)
	if !ok || us < 0 {
		return func() {}, &oip.Error{Status: http.StatusBadRequest, Code: "parameter",
			Msg: "parameter timeout: expected microseconds, a whole number from 0"}
	}
	if us == 0 || us > int64(math.MaxInt64/time.Microsecond) {
		return func() {}, nil
	}
	j.wait, stop = context.WithTimeoutCause(j.ctx, time.Duration(us)*time.Microsecond, errTimeout)
	return stop, nil
}

// answer writes the response. An error means that nothing was written.
func (s *Service) answer(w http.ResponseWriter, resp *oip.Response) error {
	size, blobs := 512, 0
	for i := range resp.Outputs {
		blob := len(resp.Blob(i))
		size, blobs = size+64+len(resp.Outputs[i].Data)-blob, blobs+blob
	}
	buf := s.pool.get(size)
	defer s.pool.put(buf)
	out, jsonBytes, err := resp.AppendHead(buf.data[:0])
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"] = typeJSON
	if jsonBytes >= 0 {
		h["Content-Type"] = typeBinary
		h[oip.HeaderLength] = []string{strconv.Itoa(jsonBytes)}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(out) + blobs)}
	_, _ = w.Write(out)
	for i := range resp.Outputs {
		if blob := resp.Blob(i); len(blob) > 0 {
			_, _ = w.Write(blob) // from where the backend put it
		}
	}
	return nil
}

var (
	typeJSON   = []string{"application/json"}
	typeBinary = []string{"application/octet-stream"}
)

// refuse answers a request that has no result.
func (s *Service) refuse(w http.ResponseWriter, r *http.Request, m *model, start time.Time, id string, err error) {
	o, status, code := judge(r.Context(), err)
	m.seen.answered(o, start, nil)
	if status == http.StatusInternalServerError {
		attrs := []slog.Attr{slog.String("model", m.Name), slog.String("id", id), slog.Any("err", err)}
		if e, ok := errors.AsType[*infer.Error](err); ok && e.Code != 0 {
			attrs = append(attrs, slog.Int("code", e.Code), slog.String("name", e.Name), slog.String("action", e.Action))
		}
		s.log.LogAttrs(r.Context(), slog.LevelError, "inference failed", attrs...)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	front.Fail(w, status, code, err.Error())
}

// judge gives an error its status (facts: serving.md 1.6) and its word.
func judge(ctx context.Context, err error) (o outcome, status int, code string) {
	var codec *oip.Error
	var failure *infer.Error
	switch {
	case errors.As(err, &codec) && codec.Status < 500:
		return outcomeInvalid, codec.Status, codec.Code
	case errors.Is(err, errQueueFull):
		return outcomeFull, http.StatusTooManyRequests, "queue_full"
	case errors.Is(err, errTimeout):
		return outcomeTimeout, http.StatusGatewayTimeout, "timeout"
	case errors.Is(err, errDraining):
		return outcomeAway, http.StatusServiceUnavailable, "draining"
	case ctx.Err() != nil:
		return outcomeCanceled, gone, "canceled"
	case errors.Is(err, context.Canceled): // not by the client: the end of a drain
		return outcomeAway, http.StatusServiceUnavailable, "draining"
	case errors.As(err, &failure):
		switch failure.Class {
		case infer.Reject:
			return outcomeInvalid, http.StatusBadRequest, "rejected"
		case infer.Closed, infer.Lost, infer.Away, infer.Canceled:
			return outcomeAway, http.StatusServiceUnavailable, string(failure.Class)
		}
	}
	return outcomeFailed, http.StatusInternalServerError, "failed"
}

// unavailable answers 503.
func unavailable(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "1")
	front.Fail(w, http.StatusServiceUnavailable, "loading", "the model is "+err.Error())
}
