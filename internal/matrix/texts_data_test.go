package matrix_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ascendctl/ascendctl/compat"
)

// sentences are the keys whose values people read: a text in two languages,
// never part of a verdict. A section stands in front where only its key is one.
var sentences = strings.Fields(`note soc_note alias_note cann_note engine_notes bf16_note name_note kernels_note name_trap trap text rule
	conflict why effect fix say about a b prefer next driver.cann_hdk/scope rules.rules/name rules.rules/test`)

func isSentence(at, key string) bool {
	return slices.Contains(sentences, key) || slices.Contains(sentences, at+"/"+key)
}

// TestTextsAreInBothLanguages: every sentence is a whole pair, and what is no
// sentence key holds a pair only where it may be either (value of env).
func TestTextsAreInBothLanguages(t *testing.T) {
	n := 0
	for at, rows := range written(t, compat.FS) {
		for _, r := range rows {
			walkTexts(at, "", r, func(key string, v any) {
				where := fmt.Sprintf("%s: row %v: %s", at, r["id"], key)
				en, zh, ok := inTwo(v)
				if !ok {
					t.Errorf("%s is %v, want {en, zh}", where, v)
					return
				}
				n++
				for _, complaint := range judgeText(en, zh) {
					t.Errorf("%s: %s\n\t%s\n\t%s", where, complaint, en, zh)
				}
			})
		}
	}
	if n < 400 {
		t.Errorf("found %d texts: the walk is broken", n)
	}
	t.Logf("%d texts", n)
}

// walkTexts calls f for every sentence, and for every pair under another key.
func walkTexts(at, key string, v any, f func(string, any)) {
	if _, _, ok := inTwo(v); ok || key != "" && isSentence(at, key) {
		f(key, v)
		return
	}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			walkTexts(at, "", x, f)
		}
	case map[string]any:
		for k, x := range v {
			walkTexts(at, k, x, f)
		}
	}
}

func inTwo(v any) (en, zh string, ok bool) {
	m, _ := v.(map[string]any)
	en, okEn := m["en"].(string)
	zh, okZh := m["zh"].(string)
	return en, zh, okEn && okZh && len(m) == 2
}

var (
	// word is English that a Chinese half would translate; names and quotes stay.
	word  = regexp.MustCompile(`\b(the|is|of|and|with|for|by|no|not|or|from|has|on)\b`)
	stuck = regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Han}`)
	half  = regexp.MustCompile(`\p{Han} ?[,;:()]|[,;:] ?\p{Han}`)
	never = strings.Fields("您 请 ！ …… 显卡 延迟 错误代码 操作符 兼容矩阵 虚拟设备 抱歉")
)

func judgeText(en, zh string) (complaints []string) {
	if strings.TrimSpace(en) == "" || strings.TrimSpace(zh) == "" {
		return []string{"a language is missing"}
	}
	han := strings.ContainsFunc(zh, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	if !han && word.MatchString(zh) {
		complaints = append(complaints, "not translated")
	}
	if m := stuck.FindString(zh); m != "" {
		complaints = append(complaints, "no blank in "+m)
	}
	if m := half.FindString(zh); m != "" {
		complaints = append(complaints, "half-width punctuation in "+m)
	}
	for _, w := range never {
		if strings.Contains(zh, w) {
			complaints = append(complaints, "says "+w)
		}
	}
	if strings.HasSuffix(en, ".") != strings.HasSuffix(zh, "。") {
		complaints = append(complaints, "only one half ends as a sentence")
	}
	return complaints
}

func TestJudgeTextCanRefuse(t *testing.T) {
	for _, c := range []struct{ en, zh, want string }{
		{"x", "", "missing"}, {"goes with the driver", "goes with the driver", "not translated"}, {"needs CANN", "需要CANN", "blank"},
		{"use it", "请使用", "says"}, {"a, b", "甲, 乙", "half-width"}, {"One.", "一", "ends"},
	} {
		if got := strings.Join(judgeText(c.en, c.zh), "; "); !strings.Contains(got, c.want) {
			t.Errorf("%q / %q: %q, want %q", c.en, c.zh, got, c.want)
		}
	}
	for _, c := range [][2]string{{"Atlas 350", "Atlas 350"}, {"needs CANN 9.1.0", "需要 CANN 9.1.0"}, {"8.2.0", "8.2.0"}} {
		if got := judgeText(c[0], c[1]); len(got) > 0 {
			t.Errorf("%q / %q: %v", c[0], c[1], got)
		}
	}
}
