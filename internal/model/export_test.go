package model

import "bytes"

// ReadIn reads a file that lies in memory through a window of the given size.
func ReadIn(data []byte, window int) (*Model, error) {
	return read(newWire(bytes.NewReader(data), int64(len(data)), window), "m.om")
}

// AsProblem is asProblem for tests outside the package.
var AsProblem = asProblem
