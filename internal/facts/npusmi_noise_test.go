package facts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// beyond lists what got says that full does not: got may know less, never other.
func beyond(path string, got, full any) string {
	switch g := got.(type) {
	case nil:
		return ""
	case map[string]any:
		f, _ := full.(map[string]any)
		for k, v := range g {
			if k == "name" && v == "" || k == "skipped" || k == "truncated" || k == "fields" || k == "cells" && f[k] == nil {
				continue
			}
			if bad := beyond(path+"."+k, v, f[k]); bad != "" {
				return bad
			}
		}
		return ""
	case []any:
		f, _ := full.([]any)
		if len(g) > len(f) {
			return fmt.Sprintf("%s has %d entries, the whole has %d", path, len(g), len(f))
		}
		for i := range g {
			if bad := beyond(fmt.Sprintf("%s[%d]", path, i), g[i], f[i]); bad != "" {
				return bad
			}
		}
		return ""
	}
	if path == ".mcu_rows" && got.(float64) <= full.(float64) || compact(got) == compact(full) {
		return ""
	}
	return fmt.Sprintf("%s is %s, the whole says %s", path, compact(got), compact(full))
}

// An output cut at any byte gives less, never something else, and no chip is
// lost in silence.
func TestCutAnywhere(t *testing.T) {
	for _, c := range smiCases(t) {
		t.Run(c.File, func(t *testing.T) {
			t.Parallel()
			whole := c.parse()
			full := plain(t, whole).(map[string]any)
			sure := whole.Kind == SmiTable && !strings.Contains("BCDEF", whole.Layout)
			var before NPUSmi
			step := 1
			if len(c.text) > 3200 { // tables of eight NPUs say the same eight times: 7 visits every column
				step = 7
			}
			for n := 0; n < len(c.text); n += step {
				part := c
				part.text = c.text[:n]
				got := part.parse()
				if reflect.DeepEqual(got, before) {
					continue
				}
				before = got
				if bad := lessOnly(t, got, full); bad != "" {
					t.Fatalf("cut at byte %d: %s\n%s", n, bad, c.text[:n])
				}
				if got.Kind == SmiTable && sure && len(got.Chips) < len(whole.Chips) && !got.Truncated {
					t.Fatalf("cut at byte %d: %d of %d chips, not reported as truncated", n, len(got.Chips), len(whole.Chips))
				}
			}
		})
	}
}

// lessOnly compares part of an output with the whole. What an output is, the
// first bytes may not tell yet; then it is unrecognised.
func lessOnly(t testing.TB, got NPUSmi, full map[string]any) string {
	if f := got.Failure; f != nil && (f.Error == SmiNoOutput || f.Error == SmiUnrecognised || f.Error == SmiTimeout) {
		if len(got.Chips)+len(got.Processes) > 0 {
			return "a failure with chips"
		}
		return ""
	}
	g := plain(t, got).(map[string]any)
	if f, ok := g["failure"].(map[string]any); ok {
		delete(f, "line")
		delete(f, "cause")
		delete(f, "library") // a cut name: the text says only that one is missing
	}
	return beyond("", g, full)
}

var loginNoise = []string{
	"Last login: Mon Nov 30 08:12:44 2026 from 192.0.2.7",
	"欢迎使用 Ascend 服务器 / Welcome", "系统负载 : 0.12    内存使用率 : 5%", "Memory usage : 12%",
	"grep: warning: stray \\ before /", "-bash: warning: setlocale: LC_ALL: cannot change locale (zh_CN.UTF-8)",
	"DrvMngGetConsoleLogLevel failed. (ret=4)", "\xb9\xfa\xbc\xca\xbb\xaf GBK", "\x1b]0;root@npu01\x07\x1b[01;32mroot@npu01\x1b[0m:~# npu-smi info",
	"(base) root@npu01:~#", "******************************", "# NPU  Chip : see wiki", "",
}

// What terminals, editors and login scripts do to an output changes nothing.
func TestNoiseChangesNothing(t *testing.T) {
	before := []byte(strings.Join(loginNoise, "\n") + "\n")
	for name, dirt := range map[string]func([]byte) []byte{
		"CRLF":            func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) },
		"colours":         func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\x1b[0m\n\x1b[1;31m")) },
		"login noise":     func(b []byte) []byte { return append(slices.Clone(before), b...) },
		"noise behind":    func(b []byte) []byte { return append(slices.Clone(b), before...) },
		"byte order mark": func(b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) },
		"indented": func(b []byte) []byte {
			return append([]byte("    "), bytes.ReplaceAll(b, []byte("\n"), []byte("\n    "))...)
		},
		"trailing blanks": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte(" \t \n")) },
		"NUL":             func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\n\x00")) },
	} {
		for _, c := range smiCases(t) {
			if len(c.text) == 0 {
				continue
			}
			dirty := c
			dirty.text = dirt(c.text)
			clean, got := c.parse(), dirty.parse()
			clean.Skipped, got.Skipped = 0, 0 // noise is counted, and that is all
			if compact(clean) != compact(got) {
				t.Errorf("%s: %s: got\n%s\nwant\n%s", name, c.File, compact(got), compact(clean))
			}
		}
	}
}

// Lines may be lost, doubled, garbled or come in another order: nothing of it
// makes a parser say what no line said.
func TestGarbledLines(t *testing.T) {
	for _, c := range smiCases(t) {
		seen := map[string]bool{}
		for _, w := range strings.FieldsFunc(string(c.text), func(r rune) bool { return strings.ContainsRune(" \u00a0\t\n|/:", r) }) {
			seen[w] = true
		}
		for seed := range uint64(100) {
			r := rand.New(rand.NewPCG(seed, 7))
			lines := strings.SplitAfter(string(c.text), "\n")
			for range 1 + r.IntN(5) {
				i, j := r.IntN(len(lines)), r.IntN(len(lines))
				switch r.IntN(3) {
				case 0:
					lines[i] = ""
				case 1:
					lines[i], lines[j] = lines[j], lines[i]
				case 2:
					lines[i] = "\xff" + lines[i]
				}
			}
			text := strings.Join(lines, "")
			got := ParseNPUSmi([]byte(text), nil, c.Command, c.Exit)
			for _, chip := range got.Chips {
				for _, n := range []*int{chip.NPU, chip.Phy, chip.TempC, chip.CorePct} {
					if n != nil && !seen[fmt.Sprint(*n)] {
						t.Fatalf("%s seed %d: %d is nowhere in\n%s", c.File, seed, *n, text)
					}
				}
			}
		}
	}
}

// Columns and keys of the outputs without bars are read by name too.
func TestNamesAreFollowedWithoutBars(t *testing.T) {
	variants := 0
	for _, c := range smiCases(t) {
		whole := c.parse()
		full := plain(t, whole).(map[string]any)
		for seed := range uint64(300) {
			r := rand.New(rand.NewPCG(seed, 11))
			var text string
			switch whole.Type {
			case SmiMapT, SmiWatch:
				text = shuffleColumns(string(c.text), r)
			case SmiUsages, SmiCommon, SmiECC, SmiBoardT, SmiHealthT:
				text = shuffleKeys(string(c.text), r)
			default:
				continue
			}
			variants++
			got := c
			got.text = []byte(text)
			if bad := lessOnly(t, got.parse(), full); bad != "" {
				t.Fatalf("%s seed %d: %s\n%s", c.File, seed, bad, text)
			}
		}
	}
	t.Logf("%d variants", variants)
	if variants < 3000 {
		t.Errorf("only %d variants", variants)
	}
}

// shuffleColumns permutes the columns, drops one and renames one at times.
func shuffleColumns(text string, r *rand.Rand) string {
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSpace(line), ") ", ")  ")
		rows = append(rows, chunks(line))
	}
	order := r.Perm(len(rows[0]))
	if r.IntN(2) == 0 {
		order = order[1:]
	}
	if r.IntN(2) == 0 {
		rows[0][r.IntN(len(rows[0]))] = "Foo Bar"
	}
	var b strings.Builder
	for _, row := range rows {
		for _, k := range order {
			b.WriteString(row[k] + "   ")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// shuffleKeys changes the order within a block, drops and renames keys.
func shuffleKeys(text string, r *rand.Rand) string {
	blocks := strings.Split(text, "\n\n")
	for i, block := range blocks {
		lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
		r.Shuffle(len(lines), func(a, b int) { lines[a], lines[b] = lines[b], lines[a] })
		if k := r.IntN(len(lines)); len(lines) > 3 {
			switch r.IntN(3) {
			case 0:
				lines = slices.Delete(lines, k, k+1)
			case 1:
				if key, v, ok := strings.Cut(lines[k], " : "); ok {
					lines[k] = "\tFoo " + strings.ToLower(strings.TrimSpace(key)[:2]) + " : " + v
				}
			}
		}
		blocks[i] = strings.Join(lines, "\n")
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// A text far beyond any host costs no more than its size: where the parser
// looks up what it has seen, the number of things seen has a limit.
func TestHostileSizes(t *testing.T) {
	grow := func(head string, line func(i int) string) []byte {
		b := bytes.NewBufferString(head)
		for i := 0; b.Len() < 1<<20; i++ {
			b.WriteString(line(i))
		}
		return b.Bytes()
	}
	chips := ParseNPUSmi(grow("+--+\n| NPU Name | Health |\n| Chip | Bus-Id |\n+==+\n", func(i int) string {
		return fmt.Sprintf("| %d 910B | OK |\n| 0 | NA |\n+==+\n", i)
	}), nil, "", nil)
	if len(chips.Chips) != maxDevices || chips.Skipped == 0 {
		t.Errorf("%d chips, %d skipped", len(chips.Chips), chips.Skipped)
	}
	idle := ParseNPUSmi(grow("", func(i int) string { return fmt.Sprintf("| No running processes found in NPU %d |\n", i) }), nil, "", nil)
	if len(idle.IdleNPUs) != maxDevices {
		t.Errorf("%d idle NPUs", len(idle.IdleNPUs))
	}
	topo := ParseNPUSmi(grow("", func(i int) string { return fmt.Sprintf("NPU%d  ", i) }), nil, "", nil)
	if topo.Kind != SmiFailed || topo.Failure.Error != SmiUnrecognised {
		t.Errorf("an endless head is taken for a topology: %s", topo.Kind)
	}
}

func FuzzNPUSmi(f *testing.F) {
	for _, c := range smiCases(f) {
		f.Add(c.text, c.Command)
	}
	f.Add([]byte("+--+\n| NPU Name |\n+==+\n| 0 |"), "")
	f.Add([]byte("|\n+\n|=|\n| NPU resource static info\n"), "npu-smi info -t info-vnpu")
	f.Fuzz(func(t *testing.T, text []byte, command string) {
		n := ParseNPUSmi(text, nil, command, nil)
		if n.Kind == "" || n.Kind == SmiFailed && n.Failure == nil {
			t.Fatalf("no kind, or a failure without a reason: %+v", n)
		}
		raw := plain(t, n)
		if again := plain(t, ParseNPUSmi(text, nil, command, nil)); compact(raw) != compact(again) {
			t.Fatal("two readings of one text differ")
		}
		for _, c := range n.Chips {
			if c.CorePct != nil && (*c.CorePct < 0 || *c.CorePct > 100) || c.NPU != nil && *c.NPU < 0 {
				t.Fatalf("out of range: %s", compact(plain(t, c)))
			}
		}
	})
}
