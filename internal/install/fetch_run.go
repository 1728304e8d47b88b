package install

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// runHead is how much of a self-extractor is read: the script of makeself has
// some 20 KB, vendors add to it.
const runHead = 512 << 10

// runSize gives the size that a makeself archive says it has, 0 where it does
// not say: as many lines of script as skip counts (older ones: as head -n does),
// and behind them filesizes bytes. src: the makeself header (GPL tool of
// Debian), and archives made with it.
func runSize(r io.ReaderAt, size int64) int64 {
	head := make([]byte, min(size, runHead))
	if n, err := r.ReadAt(head, 0); err != nil && n < len(head) || !bytes.HasPrefix(head, []byte("#!")) {
		return 0
	}
	lines := runNumber(head, "\nskip=\"")
	if lines == 0 {
		lines = runNumber(head, "head -n ")
	}
	packed := runNumber(head, "\nfilesizes=\"")
	if lines == 0 || packed == 0 {
		return 0
	}
	at := int64(0)
	for range lines {
		end := bytes.IndexByte(head[at:], '\n')
		if end < 0 {
			return 0
		}
		at += int64(end) + 1
	}
	return at + packed
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
