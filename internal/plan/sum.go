package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

type hexSum struct{ hash.Hash }

func newSum() hexSum { return hexSum{sha256.New()} }

func (h hexSum) hex() string { return hex.EncodeToString(h.Sum(nil)) }

func sum(data []byte) string {
	h := newSum()
	h.Write(data)
	return h.hex()
}

// stoppable ends reading when its context does.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}
