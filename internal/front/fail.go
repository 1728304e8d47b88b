package front

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// Error is why a request cannot be served.
type Error struct {
	Status int    // HTTP status
	Code   string // for machines: "body_too_large"
	Msg    string // English, for the client
	Err    error  // the cause, not shown to the client
}

func (e *Error) Error() string { return e.Msg }
func (e *Error) Unwrap() error { return e.Err }

// Fail answers {"error": msg} with X-Ascendctl-Error: code. After an answer
// has begun it does nothing.
func Fail(w http.ResponseWriter, status int, code, msg string) {
	if x, ok := w.(*exchange); ok {
		if x.status != 0 {
			return
		}
		x.code = code
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct {
		Error string `json:"error"`
	}{msg}) // a string is always encodable
	h := w.Header()
	h.Del("Content-Encoding")
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("X-Ascendctl-Error", code)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// FailErr is Fail with what an *Error says; any other error is a 500 whose
// text stays inside.
func FailErr(w http.ResponseWriter, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Status: http.StatusInternalServerError, Code: "internal", Msg: "the server made an error"}
	}
	Fail(w, e.Status, e.Code, e.Msg)
}
