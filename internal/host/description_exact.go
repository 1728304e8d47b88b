package host

import (
	"bytes"
	"encoding/base64"
	"unicode"
)

// result decodes an answer that was kept as it came.
func (a ExactAnswer) result() (Result, error) {
	r := Result{Stdout: []byte(a.Stdout), Stderr: []byte(a.Stderr), Exit: a.Exit}
	for _, half := range []struct {
		text string
		into *[]byte
	}{{a.StdoutBase64, &r.Stdout}, {a.StderrBase64, &r.Stderr}} {
		if half.text == "" {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(half.text)
		if err != nil {
			return Result{}, err
		}
		*half.into = data
	}
	return r, nil
}

// exact keeps an answer as it came.
func exact(r Result) ExactAnswer {
	a := ExactAnswer{Exit: r.Exit}
	if isText(r.Stdout) && isText(r.Stderr) {
		a.Stdout, a.Stderr = string(r.Stdout), string(r.Stderr)
		return a
	}
	a.StdoutBase64 = base64.StdEncoding.EncodeToString(r.Stdout)
	a.StderrBase64 = base64.StdEncoding.EncodeToString(r.Stderr)
	return a
}

// isText tells whether YAML keeps data as it is.
func isText(data []byte) bool {
	return !bytes.ContainsFunc(data, func(r rune) bool {
		return r == '\uFFFD' || r < ' ' && r != '\n' && r != '\t' || r > '~' && !unicode.IsPrint(r)
	})
}

// Wanted is what the user wanted of the host when it was described.
func (h *replay) Wanted() Wanted { return h.d.Target }
