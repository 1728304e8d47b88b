package install

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"hash"
	"io"
	"strconv"
	"strings"
)

// runHead is how much of a self-extractor is read: the script of makeself has
// some 20 KB, vendors add to it.
const runHead = 512 << 10

// runSelf is what a makeself archive says of itself: where its content begins,
// how long that is, and a digest of it ("" = it does not say).
type runSelf struct {
	at, packed  int64
	md5, sha256 string
}

// readRun reads it: as many lines of script as skip counts (older ones: as
// head -n does), and behind them filesizes bytes. Zero where it does not say.
// src: the makeself header (GPL tool of Debian), and archives made with it.
func readRun(r io.ReaderAt, size int64) (self runSelf) {
	head := make([]byte, min(size, runHead))
	if n, err := r.ReadAt(head, 0); err != nil && n < len(head) || !bytes.HasPrefix(head, []byte("#!")) {
		return self
	}
	lines := runNumber(head, "\nskip=\"")
	if lines == 0 {
		lines = runNumber(head, "head -n ")
	}
	packed := runNumber(head, "\nfilesizes=\"")
	if lines == 0 || packed == 0 {
		return self
	}
	at := int64(0)
	for range lines {
		end := bytes.IndexByte(head[at:], '\n')
		if end < 0 {
			return self
		}
		at += int64(end) + 1
	}
	return runSelf{at, packed, runDigest(head, "\nMD5=\"", 32), runDigest(head, "\nSHA=\"", 64)}
}

// size is that of the whole archive, 0 where it does not say.
func (s runSelf) size() int64 { return s.at + s.packed }

// sum is the digest it carries, and a hash to compare it with; "" for none.
func (s runSelf) sum() (name, want string, h hash.Hash) {
	switch {
	case s.sha256 != "":
		return "sha256", s.sha256, sha256.New()
	case s.md5 != "":
		return "md5", s.md5, md5.New()
	}
	return "", "", nil
}

// runDigest reads the digest behind a mark; an archive without one has zeros.
func runDigest(head []byte, mark string, digits int) string {
	_, rest, _ := strings.Cut(string(head), mark)
	sum, _, ok := strings.Cut(rest, "\"")
	if !ok || len(sum) != digits || strings.Trim(sum, "0123456789abcdef") != "" || strings.Trim(sum, "0") == "" {
		return ""
	}
	return sum
}

// runNumber reads the number behind a mark, 0 for none; filesizes of more than
// one archive is more than we judge.
func runNumber(head []byte, mark string) int64 {
	_, rest, ok := strings.Cut(string(head), mark)
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if !ok || end <= 0 || end > 15 || rest[end] == ' ' && strings.Contains(mark, "filesizes") {
		return 0
	}
	n, err := strconv.ParseInt(rest[:end], 10, 64)
	if err != nil || n > maxFile {
		return 0
	}
	return n
}
