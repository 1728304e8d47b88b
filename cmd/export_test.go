package cmd

import (
	"fmt"
	"strings"
	"time"
)

// ParseLine parses a command line that a message tells people to run, and runs
// nothing: the command, its flags and the number of arguments must exist.
func ParseLine(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != Name {
		return fmt.Errorf("%q is not a line of %s", line, Name)
	}
	s, err := newSession(App{Getenv: func(string) string { return "" }, Now: time.Now}, words[1:])
	if err != nil {
		return err
	}
	cc, rest, err := s.tree().Find(words[1:])
	if err != nil {
		return err
	}
	if err := cc.ParseFlags(rest); err != nil {
		return err
	}
	if asked, _ := cc.Flags().GetBool("help"); asked {
		return nil
	}
	return cc.ValidateArgs(cc.Flags().Args())
}
