//go:build !race

package ort

// allowance is what a process may grow by its own ways.
const allowance = 2 << 20
