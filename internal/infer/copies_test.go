package infer

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// roads are the rooms that a tensor passes between the socket of a client and
// the device.
var roads = []string{".", "../acl", "../front", "../oip", "../ort", "../serve", "../../cmd"}

// copiesThatAreNone are the places where these rooms copy bytes other than by
// Move, each with the reason why that is no copy of a tensor on its way, or where
// it is counted.
var copiesThatAreNone = map[string]string{
	"acl/dataset_linux.go fill: copy":         "places, not bytes",
	"acl/memory_linux.go Copy: copy":          "both ends are the host's, as on a board, whose backend moves",
	"acl/model_linux.go load: copy":           "the file of a model",
	"front/fail.go Fail: bytes.Buffer":        "an error",
	"front/holder.go commandOf: string":       "a file of /proc",
	"front/holder.go userName: string":        "a file of /etc",
	"front/listen.go unprivileged: string":    "a file of /proc",
	"front/read.go -: bufio.Reader":           "what is compressed is no tensor yet",
	"front/read.go readBody: bufio.NewReader": "what is compressed is no tensor yet",
	"front/read.go fill: copy":                "counted by front.Moved",
	"infer/backend.go Move: copy":             "Move itself",
	"infer/frame.go seal: copy":               "the mark of a frame",
	"infer/remote_lane.go take: io.CopyN":     "thrown away, where the caller has no room",
	"oip/raw.go rawRequest: append":           "a text without its length, which no device takes",
	"oip/request.go AppendRequest: append":    "for clients",
	"oip/response.go Append: append":          "for clients; the service writes heads and Blobs",
	"oip/scan.go escaped: append":             "a text in JSON",
	"oip/scan.go word: string":                "a word of JSON",
	"ort/run_linux.go aligned: copy":          "counted in ort.go of this room, by Aligned",
	"ort/run_linux.go take: copy":             "counted in ort.go of this room",
	"serve/warmup.go rowsIndependent: append": "rows of the trial at the start",
}

// TestOnlyMoveCopiesTensors reads the source: nothing else copies the bytes of a
// tensor, or the count of Moved would lie.
func TestOnlyMoveCopiesTensors(t *testing.T) {
	found, files := map[string]bool{}, 0
	for _, room := range roads {
		names, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || room == "../../cmd" && !strings.HasPrefix(filepath.Base(name), "serve") {
				continue
			}
			files++
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			room := filepath.Base(filepath.Dir(name))
			if room == "." {
				room = "infer"
			}
			for _, c := range copiers(t, string(text)) {
				found[room+"/"+filepath.Base(name)+" "+c] = true
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(found)) {
		if copiesThatAreNone[c] == "" {
			t.Errorf("%s: a copy; tensors are moved by Move, for other things say here why they are none", c)
		}
	}
	for c := range copiesThatAreNone {
		if !found[c] {
			t.Errorf("%s: stands here, but is no more", c)
		}
	}
	if files < 60 {
		t.Errorf("only %d files were read", files)
	}
	t.Logf("%d files of %d rooms, %d places that copy other things", files, len(roads), len(found))
}

// copiers lists the functions of a file with what in them copies bytes.
func copiers(t *testing.T, text string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		where := "-"
		if fn, ok := d.(*ast.FuncDecl); ok {
			where = fn.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if how := copies(n); how != "" {
				found = append(found, fmt.Sprintf("%s: %s", where, how))
			}
			return true
		})
	}
	return found
}

// copies names what a node copies bytes with, or "". Of append, conversions and
// loops only those count whose operand has a name that bytes of tensors go by.
func copies(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		return copyingCall(n)
	case *ast.SelectorExpr: // as a type or a value
		if name := dotted(n); slices.Contains([]string{"bytes.Buffer", "strings.Builder", "bufio.Reader", "bufio.Writer"}, name) {
			return name
		}
	case *ast.AssignStmt: // a[i] = b[j]
		for i := range min(len(n.Lhs), len(n.Rhs)) {
			_, to := n.Lhs[i].(*ast.IndexExpr)
			if _, from := n.Rhs[i].(*ast.IndexExpr); to && from && tensorish(n.Rhs[i]) {
				return "a loop"
			}
		}
	}
	return ""
}

func copyingCall(call *ast.CallExpr) string {
	name := dotted(call.Fun)
	if name == "" {
		if _, ok := call.Fun.(*ast.ArrayType); ok {
			name = "[]byte"
		}
	}
	bytes := slices.ContainsFunc(call.Args, tensorish)
	if name == "append" { // what stands first grows; what follows is copied
		bytes = call.Ellipsis.IsValid() && tensorish(call.Args[len(call.Args)-1])
	}
	switch {
	case name == "copy", strings.HasPrefix(name, "C.mem"), name == "C.GoBytes", name == "C.CBytes",
		slices.Contains([]string{"io.Copy", "io.CopyN", "io.CopyBuffer", "io.ReadAll", "bufio.NewReader", "bufio.NewReaderSize", "bufio.NewWriter", "reflect.Copy"}, name):
		return name
	case bytes && slices.Contains([]string{"append", "string", "[]byte", "bytes.Clone", "bytes.Join", "bytes.Repeat", "slices.Clone", "slices.Concat", "slices.Insert", "slices.Collect"}, name):
		return name
	}
	return ""
}

// dotted is a name, or one of a package; "" for anything else.
func dotted(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return pkg.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// tensorNames are what bytes of tensors are called in these rooms.
var tensorNames = regexp.MustCompile(`(?i)^(.*data|body|blob|buf|buffer|mem|piece|loan|payload|tensor|b|p|rows|src|from)$`)

// tensorish tells whether an expression goes by such a name.
func tensorish(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return tensorNames.MatchString(e.Name)
	case *ast.SelectorExpr:
		return tensorNames.MatchString(e.Sel.Name)
	case *ast.CallExpr:
		return tensorish(e.Fun)
	case *ast.IndexExpr:
		return tensorish(e.X)
	case *ast.SliceExpr:
		return tensorish(e.X)
	}
	return false
}

func TestTheReaderOfCopiesSeesThem(t *testing.T) {
	found := copiers(t, `package x
var a, b, c, d, e = copy(p, q), append(p, t.Data...), bytes.Clone(t.Data), append(list, t.Data), slices.Index(p, 1)
func f() {
	for i := range t.Data { out[i] = t.Data[i] }
	io.Copy(w, bytes.NewReader(t.Data))
	_ = string(body)
	_ = C.GoBytes(at, n)
	var buf bytes.Buffer
	n[i] = shape[i]
}`)
	want := []string{"-: copy", "-: append", "-: bytes.Clone", "f: a loop", "f: io.Copy", "f: string", "f: C.GoBytes", "f: bytes.Buffer"}
	if !slices.Equal(found, want) {
		t.Errorf("seen: %q, want %q", found, want)
	}
}
