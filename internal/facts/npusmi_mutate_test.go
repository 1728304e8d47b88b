package facts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The mutations below work on the captures, with header words found here and
// not by the parser: its vocabulary must not judge itself.

// printed is every header word of a bar table and the JSON key it fills.
var printed = map[string]string{
	"NPU ID": "npu", "NPU": "npu", "Name": "name", "Health": "health", "Power(W)": "power_w", "Temp(C)": "temp_c",
	"Hugepages-Usage(page)": "hugepages", "Chip": "chip", "Phy-ID": "phy", "Device": "device", "Bus-Id": "bus_id",
	"AICore(%)": "core_pct", "NPU Util(%)": "core_pct", "Memory-Usage(MB)": "mem_mb", "HBM-Usage(MB)": "hbm_mb",
	"Process id in container": "pid_in_container", "Process id": "pid", "Process name": "name", "Process memory(MB)": "mem_mb",
}

// sheet is a table taken apart: rows of cells of columns; the first rows are
// the header's words, the others the values.
type sheet struct {
	head    [][][]string   // row, cell, column
	records [][][][]string // record, row, cell, column
	raw     []string       // lines of the body that are no records: borders, idle lines
	order   []int          // body: index of the record, or -1 - index of the raw line
}

// wordsAt finds header words in a cell with their offsets, the longest first.
func wordsAt(cell string) (words []string, at []int) {
	names := make([]string, 0, len(printed))
	for n := range printed {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for i := 0; i < len(cell); i++ {
		for _, n := range names {
			if strings.HasPrefix(cell[i:], n) {
				words, at = append(words, n), append(at, i)
				i += len(n) - 1
				break
			}
		}
	}
	return words, at
}

func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	return strings.Split(line[1:len(line)-1], "|")
}

// takeApart reads header and body lines into a sheet. Values stand under their
// words in every capture.
func takeApart(head, body []string) *sheet {
	s := &sheet{}
	var at [][][]int
	for _, h := range head {
		var row [][]string
		var offs [][]int
		for _, c := range cellsOf(h) {
			w, o := wordsAt(c)
			row, offs = append(row, w), append(offs, o)
		}
		s.head, at = append(s.head, row), append(at, offs)
	}
	var record [][][]string
	for _, line := range body {
		if !strings.HasPrefix(line, "|") || len(cellsOf(line)) != len(at[0]) {
			s.order, s.raw = append(s.order, -1-len(s.raw)), append(s.raw, line)
			continue
		}
		var row [][]string
		for j, c := range cellsOf(line) {
			var vs []string
			offs := at[len(record)][j]
			for k, o := range offs {
				end := len(c)
				if k+1 < len(offs) {
					end = offs[k+1]
				}
				vs = append(vs, strings.TrimSpace(c[o:end]))
			}
			row = append(row, vs)
		}
		if record = append(record, row); len(record) == len(s.head) {
			s.order, s.records = append(s.order, len(s.records)), append(s.records, record)
			record = nil
		}
	}
	return s
}

// at names one column of a sheet.
type at struct{ row, cell, col int }

func (s *sheet) columns() (out []at) {
	for i, row := range s.head {
		for j, cell := range row {
			for k := range cell {
				out = append(out, at{i, j, k})
			}
		}
	}
	return out
}

// each is header and records alike.
func (s *sheet) each(do func(rows [][][]string)) {
	do(s.head)
	for _, r := range s.records {
		do(r)
	}
}

func (s *sheet) drop(a at) {
	s.each(func(rows [][][]string) {
		rows[a.row][a.cell] = slices.Delete(slices.Clone(rows[a.row][a.cell]), a.col, a.col+1)
	})
}

func (s *sheet) swap(a, b at) {
	s.each(func(rows [][][]string) {
		rows[a.row][a.cell][a.col], rows[b.row][b.cell][b.col] = rows[b.row][b.cell][b.col], rows[a.row][a.cell][a.col]
	})
}

func (s *sheet) dropCell(j int) {
	s.each(func(rows [][][]string) {
		for i := range rows {
			rows[i] = slices.Delete(slices.Clone(rows[i]), j, j+1)
		}
	})
}

func (s *sheet) swapCells(j, k int) {
	s.each(func(rows [][][]string) {
		for i := range rows {
			rows[i][j], rows[i][k] = rows[i][k], rows[i][j]
		}
	})
}

// mutate does up to four things to the columns. At last one word may stand
// twice, so that nobody can tell which is meant.
func (s *sheet) mutate(r *rand.Rand) {
	pick := func() at { cols := s.columns(); return cols[r.IntN(len(cols))] }
	for range 1 + r.IntN(4) {
		if len(s.columns()) < 2 {
			return
		}
		a, b := pick(), pick()
		switch cells := len(s.head[0]); r.IntN(5) {
		case 0:
			s.drop(a)
		case 1:
			s.swap(a, b)
		case 2:
			s.head[a.row][a.cell][a.col] = newWord(r)
		case 3:
			s.swapCells(r.IntN(cells), r.IntN(cells))
		case 4:
			if cells > 2 {
				s.dropCell(r.IntN(cells))
			}
		}
	}
	if len(s.columns()) > 1 && r.IntN(4) == 0 {
		a, b := pick(), pick()
		s.head[a.row][a.cell][a.col] = s.head[b.row][b.cell][b.col]
	}
}

func newWord(r *rand.Rand) string {
	w := []string{"Foo", "Fan(RPM)", "Max Temp(C)", "HBM-Usage(GB)", "Name Space", "温度(C)", "Power", "Process", "AICore", "Usage(MB)"}
	return w[r.IntN(len(w))]
}

// print sets the sheet again, with other widths.
func (s *sheet) print(r *rand.Rand, border string) []string {
	gaps := 2 + r.IntN(5)
	line := func(cells [][]string) string {
		var b strings.Builder
		b.WriteString("|")
		for _, cell := range cells {
			for _, v := range cell {
				b.WriteString(" " + v + strings.Repeat(" ", gaps))
			}
			b.WriteString(" |")
		}
		return b.String()
	}
	var out []string
	for _, row := range s.head {
		out = append(out, line(row))
	}
	out = append(out, border)
	for _, n := range s.order {
		if n < 0 {
			out = append(out, s.raw[-1-n])
			continue
		}
		for _, row := range s.records[n] {
			out = append(out, line(row))
		}
	}
	return out
}

// tables cuts a capture into its chip table and its process table (nil: none).
// What a mail did to it is taken off: the columns are what is tried here.
func tables(text string) (top []string, chips *sheet, middle []string, procs *sheet) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(strings.TrimPrefix(lines[i], "> "), "\u00a0", " "), " ")
	}
	first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "| NPU ") })
	end := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "Process id") })
	if end < 0 {
		return lines[:first], takeApart(lines[first:first+2], lines[first+3:]), nil, nil
	}
	return lines[:first], takeApart(lines[first:first+2], lines[first+3:end-1]), lines[end-1 : end],
		takeApart(lines[end:end+1], lines[end+2:])
}

// followed lists the JSON keys a parser can be held to: the word is printed as
// known, once, and no value in its cell is blank.
func (s *sheet) followed() map[string]bool {
	count, out := map[string]int{}, map[string]bool{}
	for _, a := range s.columns() {
		count[printed[s.head[a.row][a.cell][a.col]]]++
	}
	for _, a := range s.columns() {
		cell := s.head[a.row][a.cell]
		key := printed[cell[a.col]]
		blank := slices.ContainsFunc(s.records, func(r [][][]string) bool {
			return len(cell) > 1 && slices.Contains(r[a.row][a.cell], "")
		})
		if key != "" && count[key] == 1 && !blank {
			out[key] = true
		}
	}
	for key := range out {
		if key != "npu" && key != "chip" {
			return out
		}
	}
	return nil // ids alone do not say which table it is
}

func TestColumnsAreFollowed(t *testing.T) {
	const each = 150
	variants, compared, unknown := 0, 0, 0
	for _, c := range smiCases(t) {
		truth := plain(t, c.parse()).(map[string]any)
		if truth["kind"] != "table" {
			continue
		}
		for seed := range uint64(each) {
			r := rand.New(rand.NewPCG(seed, uint64(len(c.text))))
			top, chips, middle, procs := tables(string(c.text))
			chips.mutate(r)
			out := slices.Concat(top, chips.print(r, "+"+strings.Repeat("=", 30)+"+"), middle)
			if procs != nil {
				procs.mutate(r)
				out = append(out, procs.print(r, "+"+strings.Repeat("=", 30)+"+")...)
			}
			text := strings.Join(out, "\n") + "\n"
			got := plain(t, ParseNPUSmi([]byte(text), nil, c.Command, c.Exit)).(map[string]any)
			bad := ""
			a, b, why := faithful(got["chips"], truth["chips"], chips.followed(), "npu")
			compared, unknown, bad = compared+a, unknown+b, why
			if procs != nil {
				a, b, why = faithful(got["processes"], truth["processes"], procs.followed(), "pid")
				compared, unknown, bad = compared+a, unknown+b, bad+why
			}
			if compact(got["idle_npus"]) != compact(truth["idle_npus"]) {
				bad += " idle " + compact(got["idle_npus"])
			}
			if variants++; bad != "" {
				t.Fatalf("%s seed %d: %s\n%s", c.File, seed, bad, text)
			}
		}
	}
	t.Logf("%d variants, %d values as printed, %d unknown", variants, compared, unknown)
	if variants < 3000 || compared < unknown {
		t.Errorf("the test has lost its grip: %d variants, %d values, %d unknown", variants, compared, unknown)
	}
}

// faithful compares a list of rows with the truth: a value is right or unknown,
// and the keys of must are right. A row may be lost with its identity.
func faithful(got, truth any, must map[string]bool, identity string) (compared, unknown int, bad string) {
	want, _ := truth.([]any)
	have, _ := got.([]any)
	if len(have) != len(want) {
		if len(have) > len(want) || must[identity] {
			return 0, 0, fmt.Sprintf("%d rows, want %d", len(have), len(want))
		}
		return 0, len(want), ""
	}
	for i := range want {
		w, g := want[i].(map[string]any), have[i].(map[string]any)
		for k, v := range g {
			if k == "name" && v == "" {
				continue // not known
			}
			if compared++; compact(v) != compact(w[k]) {
				return compared, unknown, fmt.Sprintf("row %d: %s is %s, want %s", i, k, compact(v), compact(w[k]))
			}
		}
		for k, v := range w {
			if g[k] == nil || k == "name" && g[k] == "" && v != "" {
				if unknown++; must[k] {
					return compared, unknown, fmt.Sprintf("row %d: %s is lost", i, k)
				}
			}
		}
	}
	return compared, unknown, ""
}
