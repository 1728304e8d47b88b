package cmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestALineHasTheFlagsOfItsCommand: what treeFor leaves out is never asked for,
// wherever the words stand and by whichever name.
func TestALineHasTheFlagsOfItsCommand(t *testing.T) {
	s, err := newSession(App{Getenv: func(string) string { return "" }, Now: time.Now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	var each func(cc *cobra.Command)
	each = func(cc *cobra.Command) {
		words := strings.Fields(cc.CommandPath())[1:]
		lines := [][]string{words, append([]string{"-o", "json"}, words...), append([]string{"__complete"}, words...)}
		for _, alias := range cc.Aliases {
			lines = append(lines, append(slices.Clone(words[:len(words)-1]), alias))
		}
		for _, line := range lines {
			whole, _, _ := s.tree().Find(words)
			lean, _, _ := s.treeFor(line).Find(words)
			if got, want := flagsOf(lean), flagsOf(whole); !slices.Equal(got, want) {
				t.Errorf("%v: flags %v, want %v", line, got, want)
			}
			checked++
		}
		for _, sub := range cc.Commands() {
			each(sub)
		}
	}
	for _, cc := range s.tree().Commands() {
		each(cc)
	}
	if checked < 60 {
		t.Errorf("only %d lines were tried", checked)
	}
}

func flagsOf(cc *cobra.Command) (names []string) {
	cc.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
