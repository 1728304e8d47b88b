//go:build race

package cmd_test

// raceDetector is true where the race detector watches: the binary is then built
// with it, too.
const raceDetector = true
