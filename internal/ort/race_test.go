//go:build race

package ort

// allowance is what a process may grow by its own ways: the race detector
// keeps notes of all it sees, so only large leaks show.
const allowance = 100 << 20
