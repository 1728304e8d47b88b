package settings

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// claim is a row of docs/folklore.md.
type claim struct{ line, id, text, verdict, why, instead, source, zh string }

func claims(t *testing.T) (out []claim) {
	t.Helper()
	data, err := os.ReadFile("../../docs/folklore.md")
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`^\d{3}-\d{2}[a-z]?$`)
	for _, line := range strings.Split(string(data), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| id ") || strings.HasPrefix(line, "| ---") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 7 || !id.MatchString(cells[0]) {
			t.Errorf("want seven columns that begin with an id: %s", line)
			continue
		}
		out = append(out, claim{line, cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]})
	}
	return out
}

func TestEveryClaimHasVerdictReasonSourceAndChinese(t *testing.T) {
	rows := claims(t)
	if len(rows) < 45 {
		t.Fatalf("%d claims: the walk is broken", len(rows))
	}
	seen := map[string]bool{}
	opens := map[string]string{"true": "正确", "false": "错误", "unknown": "无依据"}
	for _, c := range rows {
		if seen[c.id] {
			t.Errorf("%s stands twice", c.id)
		}
		seen[c.id] = true
		if !slices.Contains([]string{"true", "partly", "false", "unknown"}, c.verdict) {
			t.Errorf("%s: verdict %q", c.id, c.verdict)
		}
		if c.text == "" || c.why == "" || c.instead == "" || len(c.source) < 10 || !strings.ContainsFunc(c.zh, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s lacks a column", c.id)
		}
		if !strings.HasPrefix(c.zh, opens[c.verdict]) || c.verdict == "partly" && regexp.MustCompile("^(正确|错误)").MatchString(c.zh) {
			t.Errorf("%s: the verdict %s and the Chinese %q differ", c.id, c.verdict, c.zh)
		}
	}
}

// Every invention of the data is explained on the page, on a line that says
// that it is one, and both languages agree on what does not exist.
func TestEveryInventionStandsOnTheFolklorePage(t *testing.T) {
	rows := claims(t)
	for _, e := range load(t).All() {
		names := append([]string{e.ID}, e.Also...)
		held := slices.ContainsFunc(rows, func(c claim) bool {
			return strings.Contains(c.line, "fictional") && slices.ContainsFunc(names, func(n string) bool { return strings.Contains(c.text+c.why, n) })
		})
		if e.Kind == Fictional && !held {
			t.Errorf("docs/folklore.md does not tell that %s is fictional", e.ID)
		}
	}
	for _, c := range rows {
		bad := strings.Contains(c.zh, "不存在") != regexp.MustCompile(`fictional|not exist|was never|no package|no tree`).MatchString(c.text+c.why)
		if bad {
			t.Errorf("%s: one language says that it does not exist, the other does not", c.id)
		}
	}
}
