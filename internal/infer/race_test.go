//go:build race

package infer

const raceDetector = true
