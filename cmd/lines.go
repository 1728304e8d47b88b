package cmd

import (
	"fmt"
	"strings"
)

// parses tells whether a command line that a message wants to show is one of
// this build: the command, its flags and the number of arguments exist. It
// runs nothing. Knowledge may speak of commands that a later release brings.
func (s *session) parses(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != Name {
		return fmt.Errorf("%q is not a line of %s", line, Name)
	}
	// Parsing writes to the flags of its session, so it gets one of its own.
	probe := &session{app: s.app, lang: s.lang, format: s.format, out: s.out, err: s.err, log: s.log, secrets: s.secrets}
	cc, rest, err := probe.tree().Find(negativeCode(words[1:]))
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

// ours leaves a line out that is one of ours but not of this build.
func (s *session) ours(line string) string {
	if strings.HasPrefix(line, Name+" ") && s.parses(line) != nil {
		return ""
	}
	return line
}
