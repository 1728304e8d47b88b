// Package front is the HTTP kit under every server of the tool: listening,
// limits, health, drain, the access log and the metrics of HTTP itself. It
// knows nothing of models.
//
// What net/http answers before a handler is asked (malformed request line,
// header too large, unknown Expect) is plain text; every answer of this
// package is JSON with a machine code in the header X-Ascendctl-Error: busy,
// draining, not_ready, method_not_allowed, body_too_large, body_timeout,
// body_truncated, bad_body, unsupported_encoding, internal.
package front
