package check

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

// latin is a piece of a Chinese half without Chinese, cut where sentences are.
var latin = regexp.MustCompile(`[^\p{Han}：；，。（）、,;:()"']+`)

// english are the words that only a sentence of ours would hold.
var english = regexp.MustCompile(`\b(none|missing|wanted|not|no|of|the|and|or|in|is|are|with|without|taken|by|for|a|an|only|than|to|on|from|between)\b`)

// whole are words that stay English: keys of a condition, as checks.yaml has
// them.
var whole = []string{"failed", "lacks", "container"}

// ourWords are the lower-case words of the English texts of this room that no
// Chinese half of it uses: two of them beside each other are a phrase.
func ourWords(t *testing.T) map[string]bool {
	t.Helper()
	words, kept := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`\b[a-z]{3,}\b`)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			if s, is := call.Fun.(*ast.SelectorExpr); !is || s.Sel.Name != "T" {
				return true
			}
			for i, into := range []map[string]bool{words, kept} {
				if lit, is := call.Args[i].(*ast.BasicLit); is {
					s, _ := strconv.Unquote(lit.Value)
					for _, w := range word.FindAllString(s, -1) {
						into[w] = true
					}
				}
			}
			return true
		})
	}
	for w := range kept {
		delete(words, w)
	}
	if len(words) < 150 {
		t.Fatalf("%d words: the walk is broken", len(words))
	}
	return words
}

// phrases gives the pieces of a Chinese half that are English of ours. said
// holds what the host and its tools said, which stays as it came.
func phrases(zh, said string, ours map[string]bool) (found []string) {
	for _, piece := range latin.FindAllString(zh, -1) {
		piece = strings.Join(strings.Fields(piece), " ")
		if piece == "" || slices.Contains(whole, piece) || strings.Contains(said, piece) {
			continue
		}
		words := strings.Fields(piece)
		for i, w := range words {
			if english.MatchString(w) && english.FindString(w) == w || i > 0 && ours[w] && ours[words[i-1]] || len(words) == 1 && ours[w] && !strings.Contains(said, w) {
				found = append(found, piece)
				break
			}
		}
	}
	return found
}

// saidBy is all text of a described host.
func saidBy(w *world) string {
	var b strings.Builder
	for _, c := range w.Commands {
		b.WriteString(c.Stdout + "\n" + c.Stderr + "\n")
	}
	for name, text := range w.Files {
		b.WriteString(name + "\n" + text + "\n")
	}
	fmt.Fprintln(&b, w.Env, w.Facts)
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestEvidenceIsInBothLanguages holds the evidence of every described host and
// of every change of one: no half is empty, and no Chinese half has an English
// phrase of ours.
func TestEvidenceIsInBothLanguages(t *testing.T) {
	c, ours := catalogue(t), ourWords(t)
	told := map[string]bool{}
	hold := func(where, said string, findings []report.Finding) {
		for _, f := range findings {
			for _, e := range f.Evidence {
				for _, half := range []report.Text{e.Seen, e.Wanted} {
					if (half.En == "") != (half.Zh == "") {
						t.Errorf("%s: %s: one half only: %+v", where, f.ID, half)
					}
					for _, p := range phrases(half.Zh, said, ours) {
						if !told[f.ID+p] {
							told[f.ID+p] = true
							t.Errorf("%s: %s: %q in %q (%q)", where, f.ID, p, half.Zh, half.En)
						}
					}
				}
			}
		}
	}
	files, _ := filepath.Glob("../../testdata/cases/hosts/*.yaml")
	if len(files) < 14 {
		t.Fatalf("%d descriptions", len(files))
	}
	for _, file := range files {
		d := describe(t, file)
		w := &world{d, Of(d.Target), nil}
		hold(d.ID, saidBy(w), Host(c, see(t, c, d, w.s), w.s))
		hold(d.ID+", nothing asked", saidBy(w), Host(c, &facts.Facts{}, w.s))
	}
	for _, turn := range append(machineTurns, stackTurns...) {
		var w *world
		f := turnedTo(t, c, turn.base, turn.id, turn.ready, turn.do, func(is *world) { w = is })
		hold(turn.base+" changed", saidBy(w), []report.Finding{f})
	}
	for _, turn := range fleetTurns {
		a, s := member(t, c, "npu01", true, turn.both, nil)
		b, _ := member(t, c, "npu02", turn.odd == nil, turn.both, turn.odd)
		hold("two hosts", "", Fleet(c, []Member{a, b}, s))
	}
}

// TestEnglishInAChineseHalfIsFound proves that the test above can fail.
func TestEnglishInAChineseHalfIsFound(t *testing.T) {
	ours := ourWords(t)
	const said = "dcmi module initialize failed. ret is -8005"
	for zh, want := range map[string]bool{
		"one version":                     true,
		"缺少：no nnal with a set_env.sh":    true,
		"memory of the job on one chip":   true,
		"synchronised":                    true,
		"未知：not recorded":                 true,
		"NPU 0：" + said:                   false,
		"没有带 set_env.sh 的 nnal":           false,
		">= 5 GiB":                        false,
		"8.1.RC1 位于 /usr/local/Ascend/on": false,
	} {
		if got := phrases(zh, said, ours); (len(got) > 0) != want {
			t.Errorf("%q: found %q, want %t", zh, got, want)
		}
	}
}

// TestNotesAreRead: why a fact is not known is told in both languages; what a
// tool said stays as it came.
func TestNotesAreRead(t *testing.T) {
	for note, zh := range map[string]string{
		"command npu-smi info -m: not recorded":                   "command npu-smi info -m：主机记录中没有",
		"no answer in time":                                       "未在限定时间内应答",
		"no elevated rights: sudo asks HwHiAiUser for a password": "没有提权权限：sudo 要求 HwHiAiUser 输入密码",
		"no elevated rights: sudo: a terminal is required":        "没有提权权限：sudo: a terminal is required",
		"no command hccn_tool":                                    "没有命令 hccn_tool",
		`want a number, got "many"`:                               `应为 数字，实为 "many"`,
		"exit 1: modinfo: ERROR: Module not found.":               "返回码 1: modinfo: ERROR: Module not found.",
		"open /var/log/dmesg: permission denied":                  "open /var/log/dmesg: permission denied",
		"":                                                        "",
	} {
		if got := noted(note); got != (report.Text{En: note, Zh: zh}) {
			t.Errorf("%q: got %+v", note, got)
		}
	}
}

// TestAPortIsTakenBySomebody: who holds it is told as far as the login sees.
func TestAPortIsTakenBySomebody(t *testing.T) {
	for want, got := range map[string]report.Text{
		"8000 is taken by a process we cannot see": taken("8000", "", 0),
		"8000 is taken by pid 811":                 taken("8000", "", 811),
		"8000 is taken by uvicorn":                 taken("8000", "uvicorn", 0),
		"8000 is taken by uvicorn (pid 811)":       taken("8000", "uvicorn", 811),
	} {
		if got.En != want {
			t.Errorf("want %q, got %+v", want, got)
		}
	}
}
