package matrix

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Chip is what a chip name stands for.
type Chip struct {
	SoC        string // Ascend910B3; empty when only a generation was named
	Short      string // Ascend910B: what bins of one die share
	Generation string // A1, A2, A3, 310, 310P, 310B, 950
	Variant    string // 950DT or 950PR
	Arch       string // npu_arch of the SoC; of a generation, that of its SoCs
	BF16       bool
	Package    string // chip part of operator package names and image keys: 910b
	engines    book.Value
	row        *book.Row
}

type socRow struct {
	*book.Row
	soc, short, generation, arch string
	bf16                         bool
}

func (m *Matrix) socs() []socRow {
	return table(m, "chips.socs", func(r *book.Row) socRow {
		return socRow{r, r.Str("soc_version"), r.Str("short"), r.Str("generation"), r.Str("npu_arch"), r.Str("bf16") == "true"}
	})
}

func (m *Matrix) families() []*book.Row {
	return m.plain("chips.families")
}

// Chip resolves a SoC name with or without Ascend in front, a generation, or
// 950DT and 950PR. 910 alone is not resolved: A1 and A3 both print it.
func (m *Matrix) Chip(name string) (Chip, bool) {
	word := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "ascend")
	if word == "910" || word == "" {
		return Chip{}, false
	}
	for _, s := range m.socs() {
		if strings.EqualFold(s.soc, "ascend"+word) {
			c := Chip{SoC: s.soc, Short: s.short, Generation: s.generation, Arch: s.arch, BF16: s.bf16, row: s.Row}
			if s.generation == "950" {
				c.Variant = variant(word)
			}
			m.family(&c)
			return c, true
		}
	}
	c := Chip{Variant: variant(word)}
	if c.Variant != "" {
		word = "950"
	}
	for _, f := range m.families() {
		if strings.EqualFold(f.Str("generation"), word) {
			c.Generation, c.BF16, c.row = f.Str("generation"), f.Str("bf16") == "true", f
			break
		}
	}
	for _, s := range m.socs() {
		if s.generation == c.Generation && c.Arch == "" {
			c.Arch = s.arch
		}
	}
	m.family(&c)
	return c, c.Generation != ""
}

// variant gives 950DT or 950PR for such a name, with or without the number of a
// bin behind it.
func variant(word string) string {
	for _, v := range []string{"950dt", "950pr"} {
		if rest, ok := strings.CutPrefix(word, v); ok && (rest == "" || rest[0] == '_') {
			return strings.ToUpper(v)
		}
	}
	return ""
}

func (m *Matrix) family(c *Chip) {
	for _, f := range m.families() {
		if f.Str("generation") == c.Generation {
			c.engines, c.Package = f.Get("engines"), f.Str("kernels_package")
		}
	}
}

// among is true when a row that names chips speaks of this one: of its
// generation, or of its variant. A row for 950DT says nothing about 950PR.
func (c Chip) among(chips []string) bool {
	for _, name := range chips {
		if name != "" && (name == c.Generation || name == c.Variant) {
			return true
		}
	}
	return false
}

// marketing are names that are printed nowhere and stand for a generation.
// Source: facts of hicann/driver and users' outputs; 910C is sold as A3 and
// prints Ascend910.
var marketing = map[string]string{"910c": "A3"}

// chipsLike names the known chips nearest to a misspelt one.
func (m *Matrix) chipsLike(name string) []Near {
	word := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "ascend")
	if g := marketing[word]; g != "" {
		return []Near{{Part: "chip", Value: g}}
	}
	if word == "910" {
		return []Near{{Part: "chip", Value: "A1"}, {Part: "chip", Value: "A3"}}
	}
	var known []string
	for _, s := range m.socs() {
		known = append(known, strings.TrimPrefix(s.soc, "Ascend"))
	}
	for _, f := range m.families() {
		known = append(known, f.Str("generation"))
	}
	if best := report.Nearest(strings.ToUpper(word), known); best != "" {
		return []Near{{Part: "chip", Value: best}}
	}
	return nil
}
