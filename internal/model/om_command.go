package model

import (
	"regexp"
	"strings"
	"sync"
)

// Command is the command line that made the file. The paths in it name
// folders of whoever built it, so they are shown only when asked for.
type Command struct {
	Present bool `json:"present"`
	// Options are those whose values hold no path.
	Options map[string]string `json:"options,omitempty"`
	Hidden  []string          `json:"hidden,omitempty"` // options left out
	// Line is the command with what Options has, or whole after Reveal.
	Line Recorded `json:"line,omitempty"`

	Stored string `json:"-"` // as it stands in the file
}

// open are the options of ATC whose values are shown. What is not among them
// may hold a path, or may in a later release.
var open = pattern(`^(mode|framework|soc_version|virtual_type|core_type|aicore_num|input_(shape|shape_range|format|fp16_nodes|hint_shape)|` +
	`dynamic_(batch_size|image_size|dims)|out_nodes|output_type|is_(input|output)_adjust_hw_layout|precision_mode(_v2)?|` +
	`op_select_implmode|optypelist_for_implmode|allow_hf32|host_env_(os|cpu)|external_weight|deterministic(_level)?|` +
	`disable_reuse_memory|buffer_optimize|enable_(small_channel|single_stream|compress_weight|attr_compression)|sparsity|` +
	`jit_compile|oo_level|log|display_model_info|status_check|op_debug_level|op_compiler_cache_mode|dump_mode|` +
	`(shape_generalized_build|quant_dumpable|ac_parallel_enable|tiling_schedule_optimize)\w*)$`)

// plain is what the name of an option looks like; anything else is a piece of
// a value.
var plain = pattern(`^[a-z][a-z0-9_]*$`)

// release finds the CANN release in the folder a program was run from:
// .../ascend-toolkit/8.0.RC3/bin or .../cann-9.0.0/bin.
var release = pattern(`(?:/(?:ascend-toolkit|nnrt|nnae)/|/cann-)(\d+\.[0-9A-Za-z.]+)/`)

func pattern(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// command reads a stored command line, and from its program the CANN release.
func command(line string) (c Command, cann Recorded) {
	if line == "" {
		return c, ""
	}
	c = Command{Present: true, Options: map[string]string{}, Stored: line}
	shown := []string{"atc"}
	for i, w := range words(line) {
		name, value, _ := strings.Cut(w, "=")
		name = strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
		switch {
		case i == 0: // the program
			if m := release().FindStringSubmatch(w); m != nil {
				cann = Recorded(m[1])
			}
		case open().MatchString(name) && !strings.Contains(value, " /"):
			c.Options[name] = value
			shown = append(shown, "--"+name+"="+value)
		case plain().MatchString(name):
			c.Hidden = append(c.Hidden, name)
		}
	}
	c.Line = Recorded(strings.Join(shown, " "))
	return c, cann
}

// Reveal puts the whole line in place of the one without paths.
func (c *Command) Reveal() {
	c.Line, c.Hidden = Recorded(c.Stored), nil
}

// words splits a stored command line into its program and its options, each
// written --name=value. The file has the arguments joined by blanks: what does
// not begin with a dash belongs to the option before it.
func words(line string) []string {
	out := []string{""}
	for _, w := range strings.Fields(line) {
		last := &out[len(out)-1]
		switch {
		case strings.HasPrefix(w, "-") && len(w) > 1 && (w[1] < '0' || w[1] > '9'):
			out = append(out, w)
		case *last == "":
			*last = w
		case len(out) > 1 && !strings.Contains(*last, "="):
			*last += "=" + w
		default:
			*last += " " + w
		}
	}
	return out
}
