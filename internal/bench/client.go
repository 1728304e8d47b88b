package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
)

// maxAnswer bounds what is read of any answer, 1 GiB.
const maxAnswer = 1 << 30

// client speaks to the service.
type client struct {
	http    *http.Client
	now     func() time.Time
	base    string
	model   string
	about   string // address of the model's metadata
	timeout time.Duration
}

func newClient(o *Options) *client {
	parts := strings.Split(o.Model, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	base := strings.TrimRight(o.URL, "/")
	return &client{http: o.Client, now: o.Now, base: base, model: o.Model, timeout: o.Timeout,
		about: base + "/v2/models/" + strings.Join(parts, "/")}
}

// failure is a request without a usable answer; kind is its word in Level.
type failure struct {
	kind string
	text string
}

func (f *failure) Error() string { return f.text }

// get fetches what stands at address.
func (c *client) get(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	body := new(bytes.Buffer)
	_, _, err = c.do(req, body)
	return body.Bytes(), err
}

// do sends a request, reads the answer into body, and gives the header of the
// binary extension and the moment the answer was there. Every error is a
// *failure.
func (c *client) do(req *http.Request, body *bytes.Buffer) (headerLength string, end time.Time, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return "", c.now(), classify(err)
	}
	defer resp.Body.Close()
	body.Reset()
	n, err := body.ReadFrom(io.LimitReader(resp.Body, maxAnswer))
	end = c.now()
	switch {
	case err != nil:
		return "", end, classify(err)
	case n == maxAnswer:
		return "", end, &failure{"answer", fmt.Sprintf("an answer of %d bytes or more", maxAnswer)}
	case resp.StatusCode != http.StatusOK:
		return "", end, &failure{"http_" + strconv.Itoa(resp.StatusCode), said(resp.Status, body.Bytes())}
	}
	return resp.Header.Get(oip.HeaderLength), end, nil
}

// classify names a failure of the transport.
func classify(err error) *failure {
	kind := "transport"
	var op *net.OpError
	var limit interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &limit) && limit.Timeout():
		kind = "timeout"
	case errors.As(err, &op) && op.Op == "dial":
		kind = "connect"
	}
	return &failure{kind, err.Error()}
}

// said is the error text of the protocol, or what came in its place.
func said(status string, body []byte) string {
	var e struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &e) == nil && e.Error != "" {
		return status + ": " + e.Error
	}
	return status + ": " + shorten(strings.ToValidUTF8(string(body), "?"))
}

// metadata asks what the model is. The error is a *report.Problem.
func (c *client) metadata(ctx context.Context) (oip.Metadata, error) {
	var meta oip.Metadata
	body, err := c.get(ctx, c.about)
	if err == nil {
		if bad := json.Unmarshal(body, &meta); bad == nil {
			return meta, nil
		} else {
			err = &failure{"answer", "metadata: " + bad.Error()}
		}
	}
	if ctx.Err() != nil {
		return meta, ctx.Err()
	}
	problem := &report.Problem{
		What: report.T("cannot use model %s at %s", "无法使用模型 %s（服务 %s）", c.model, c.base),
		Why:  report.Same(err.Error()),
		Exit: report.ExitFailed,
		Err:  err,
	}
	var f *failure
	switch errors.As(err, &f); {
	case f == nil:
	case f.kind == "http_404":
		problem.Do, problem.Exit = report.T("name a model that is served there", "指定该服务上已有的模型"), report.ExitUsage
	case f.kind == "connect", f.kind == "timeout", f.kind == "transport":
		problem.What = report.T("cannot reach %s", "无法访问 %s", c.base)
		problem.Do, problem.Exit = report.T("start the service, or give its address", "启动服务，或指定其地址"), report.ExitUnreachable
	}
	return meta, problem
}

// batches reads how many batches and rows the service has executed.
func (c *client) batches(ctx context.Context) (batches, rows float64, ok bool) {
	text, err := c.get(ctx, c.base+"/metrics")
	if err != nil {
		return 0, 0, false
	}
	all, err := metrics.Parse(bytes.NewReader(text))
	if err != nil {
		return 0, 0, false
	}
	batches, n := all.Sum("ascendctl_infer_batches_total", "model", c.model)
	rows, m := all.Sum("ascendctl_infer_rows_total", "model", c.model)
	return batches, rows, n > 0 && m > 0
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
