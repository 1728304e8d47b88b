package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// pair is one text of the source, as written.
type pair struct {
	pos    token.Position
	en, zh string
}

// TestTexts holds every human sentence to both languages: each half there, the
// same place-holders in the same order, the Chinese in Chinese and in the
// words of the glossary.
func TestTexts(t *testing.T) {
	pairs := sourceTexts(t)
	if len(pairs) < 100 {
		t.Fatalf("found %d texts: the walk is broken", len(pairs))
	}
	for _, p := range pairs {
		for _, complaint := range judge(p.en, p.zh) {
			t.Errorf("%s: %s\n\ten %q\n\tzh %q", p.pos, complaint, p.en, p.zh)
		}
	}
	t.Logf("%d texts", len(pairs))
}

// TestTextsSayNo proves that each rule can fail.
func TestTextsSayNo(t *testing.T) {
	for _, c := range []struct{ en, zh, want string }{
		{"hello", "", "missing"},
		{"", "你好", "missing"},
		{"%s is busy", "%d 忙", "place-holders"},
		{"%s on %s", "%s 上", "place-holders"},
		{"%s is %d", "%d 为 %s", "place-holders"},
		{"the file is busy", "the file is busy", "not translated"},
		{"simulated", "虚拟设备，模拟", "glossary"},
		{"port %d busy", "端口%d被占用", "blank"},
		{"stop it", "请停止！", "tone"},
	} {
		if got := judge(c.en, c.zh); !strings.Contains(strings.Join(got, ";"), c.want) {
			t.Errorf("%q / %q: %v, want %q", c.en, c.zh, got, c.want)
		}
	}
	for _, c := range [][2]string{{"cannot read %s: %v", "无法读取 %s：%v"}, {"%s has %d", "%[2]d 属于 %[1]s"}} {
		if got := judge(c[0], c[1]); len(got) > 0 {
			t.Errorf("a good pair is refused: %v", got)
		}
	}
}

var (
	verbs = regexp.MustCompile(`%(\[\d+\])?[-+# 0]*[\d*]*(\.[\d*]+)?[a-zA-Z%]|\{[a-z_]+\}`)
	// stuck is a Chinese character that touches a letter, digit or number. A %s may
	// stand for Chinese words, so it is left alone.
	stuck = regexp.MustCompile(`[\p{Han}][A-Za-z0-9\x60]|[\p{Han}]%[dgfq.]|[A-Za-z0-9\x60][\p{Han}]`)
	// never are the words the glossary rules out, and the tone it forbids.
	never = map[string]string{
		"显卡": "glossary: NPU", "预演": "glossary: 试运行", "延迟": "glossary: 时延", "填充": "glossary: 补齐",
		"静态形状": "glossary: 静态 shape", "动态形状": "glossary: 动态 shape", "错误代码": "glossary: 错误码",
		"操作符": "glossary: 算子", "兼容矩阵": "glossary: 版本配套表", "虚拟设备": "glossary: 模拟", "热身": "glossary: 预热",
		"凑批": "glossary: 组 batch", "您": "tone", "请": "tone", "抱歉": "tone", "！": "tone", "……": "tone",
	}
)

func judge(en, zh string) (complaints []string) {
	say := func(s string) { complaints = append(complaints, s) }
	switch {
	case en == "" && zh == "":
		return nil
	case en == "" || zh == "":
		return []string{"a language is missing"}
	}
	if !slices.Equal(holders(en), holders(zh)) {
		say("place-holders differ")
	}
	han := strings.ContainsFunc(zh, isHan)
	if en == zh && strings.Contains(strings.TrimSpace(verbs.ReplaceAllString(en, "")), " ") {
		say("not translated")
	}
	if en != zh && !han && strings.ContainsFunc(verbs.ReplaceAllString(zh, ""), unicode.IsLetter) {
		say("no Chinese in the Chinese half")
	}
	for word, why := range never {
		if strings.Contains(strings.ReplaceAll(zh, "请求", ""), word) {
			say(why + " (" + word + ")")
		}
	}
	if m := stuck.FindString(strings.ReplaceAll(zh, "°C", "")); m != "" {
		say("no blank in " + m)
	}
	return complaints
}

// holders lists the place-holders by the argument each stands for, so that a
// language may change the order by saying the numbers.
func holders(s string) (out []string) {
	next := 1
	for _, v := range verbs.FindAllString(s, -1) {
		if v == "%%" {
			continue
		}
		if v[0] == '{' {
			out = append(out, v)
			continue
		}
		if i, rest, ok := strings.Cut(strings.TrimPrefix(v, "%["), "]"); ok {
			next, _ = strconv.Atoi(i)
			v = "%" + rest
		}
		out = append(out, fmt.Sprintf("%03d %s", next, v))
		next++
	}
	slices.Sort(out)
	return out
}

// sourceTexts finds report.T(en, zh, ...) and report.Text{En:, Zh:} in every
// Go file that is built into the product.
func sourceTexts(t *testing.T) (out []pair) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				out = append(out, callText(t, fset, n)...)
			case *ast.CompositeLit:
				out = append(out, literalText(t, fset, n)...)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// callText reads report.T(en, zh, ...), and every other call that hands on two
// literals of which the second is Chinese.
func callText(t *testing.T, fset *token.FileSet, n *ast.CallExpr) []pair {
	name := exprName(n.Fun)
	if (name == "report.T" || name == "T") && len(n.Args) >= 2 {
		return onePair(t, fset, n, n.Args[0], n.Args[1])
	}
	for i := range max(0, len(n.Args)-1) {
		if zh, ok := literal(n.Args[i+1]); ok && strings.ContainsFunc(zh, isHan) {
			return onePair(t, fset, n, n.Args[i], n.Args[i+1])
		}
	}
	return nil
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

func literalText(t *testing.T, fset *token.FileSet, n *ast.CompositeLit) []pair {
	if name := exprName(n.Type); name != "report.Text" && name != "Text" || len(n.Elts) == 0 {
		// The elements of a []report.Text have no type of their own.
		if !keyed(n, "En") {
			return nil
		}
	}
	var en, zh ast.Expr
	for i, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if exprName(kv.Key) == "En" {
				en = kv.Value
			} else if exprName(kv.Key) == "Zh" {
				zh = kv.Value
			}
		} else if i == 0 {
			en = e
		} else {
			zh = e
		}
	}
	return onePair(t, fset, n, en, zh)
}

func keyed(n *ast.CompositeLit, key string) bool {
	return slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		return ok && exprName(kv.Key) == key
	})
}

// onePair reads two string literals; a half that is computed (a text made of
// texts) is judged where its parts are written.
func onePair(t *testing.T, fset *token.FileSet, n ast.Node, en, zh ast.Expr) []pair {
	a, okA := literal(en)
	b, okB := literal(zh)
	pos := fset.Position(n.Pos())
	if okA != okB {
		t.Errorf("%s: one half is a literal, the other is not", pos)
		return nil
	}
	if !okA {
		return nil
	}
	return []pair{{pos, a, b}}
}

func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case nil:
		return "", true
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, okA := literal(e.X)
		b, okB := literal(e.Y)
		return a + b, okA && okB
	}
	return "", false
}

func exprName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return exprName(e.X) + "." + e.Sel.Name
	}
	return ""
}
