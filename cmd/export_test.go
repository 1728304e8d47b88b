package cmd

import "time"

// ParseLine parses a command line that a message tells people to run.
func ParseLine(line string) error {
	s, err := newSession(App{Getenv: func(string) string { return "" }, Now: time.Now}, nil)
	if err != nil {
		return err
	}
	return s.parses(line)
}
