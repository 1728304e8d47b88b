package matrix_test

import (
	"regexp"
	"slices"
	"strings"
)

var (
	re950      = regexp.MustCompile(`^950(dt|pr)(_.*)?$`)
	reName     = regexp.MustCompile(`^[A-Za-z_-]+`)
	reSpan     = regexp.MustCompile(`\[([\d.]+),([\d.]+)\]`)
	reKernel   = regexp.MustCompile(`^(.*)\[kernel (.*)\]`)
	reBrackets = regexp.MustCompile(`\([^)]*\)`)
	reBlanks   = regexp.MustCompile(`(?i)\blts\b|[ _-]`)
	reEuler    = regexp.MustCompile(`^euler(os)?`)
)

// The answers of the oracle: one letter each.
const (
	yes   = 's'
	no    = 'u'
	maybe = '?'
)

// chipOf is a chip as the oracle reads it.
type chipOf struct {
	soc, short, gen, variant, arch string
	bf16, ok                       bool
	family                         entry
}

func (o *oracle) chip(name string) chipOf {
	c, ok := o.chips[name]
	if !ok {
		c = o.readChip(name)
		o.chips[name] = c
	}
	return c
}

func (o *oracle) readChip(name string) (c chipOf) {
	n := strings.ToLower(strings.TrimPrefix(strings.ToLower(name), "ascend"))
	if n == "910" {
		return c
	}
	for _, r := range o.tables["chips.socs"] {
		if strings.ToLower(r.s("soc_version")) == "ascend"+n {
			c = chipOf{soc: r.s("soc_version"), short: r.s("short"), gen: r.s("generation"), arch: r.s("npu_arch"), bf16: r.s("bf16") == "true", ok: true}
		}
	}
	if m := re950.FindStringSubmatch(n); m != nil {
		c.variant, c.gen, c.ok = "950"+strings.ToUpper(m[1]), "950", true
	}
	for _, f := range o.tables["chips.families"] {
		if strings.EqualFold(f.s("generation"), n) || c.ok && f.s("generation") == c.gen {
			if c.soc == "" {
				c.gen, c.bf16, c.ok = f.s("generation"), f.s("bf16") == "true", true
			}
			c.family = f
		}
	}
	for _, r := range o.tables["chips.socs"] {
		if c.ok && c.arch == "" && r.s("generation") == c.gen {
			c.arch = r.s("npu_arch")
		}
	}
	return c
}

func (c chipOf) in(list []string) bool {
	return slices.Contains(list, c.gen) || c.variant != "" && slices.Contains(list, c.variant)
}

// verdict combines the answers of the eighteen rules.
func (o *oracle) verdict(p map[string]string) string {
	var all []rune
	for _, rule := range []func(map[string]string) []rune{o.torch, o.python, o.torchCANN, o.driver, o.vllm, o.chipEngine, o.dtype, o.numpy, o.triton,
		o.mindie, o.mindspore, o.om, o.packages, o.glibc, o.firmware, o.system, o.exists, o.knownBad} {
		all = append(all, rule(p)...)
	}
	switch {
	case slices.Contains(all, no):
		return "unsupported"
	case slices.Contains(all, maybe), !slices.Contains(all, yes):
		return "unknown"
	}
	return "supported"
}

func choose(cond bool, a, b rune) []rune {
	if cond {
		return []rune{a}
	}
	return []rune{b}
}

func (o *oracle) torch(p map[string]string) []rune {
	if p["torch"] == "" || p["torch_npu"] == "" {
		return nil
	}
	a, b := base(p["torch"]), base(p["torch_npu"])
	if a == "" || b == "" {
		return []rune{maybe}
	}
	return choose(a == b, yes, no)
}

func (o *oracle) pick(table, part, v string) (out []entry) {
	for _, r := range o.tables[table] {
		if o.same(kinds[part], r.s(part), v) {
			out = append(out, r)
		}
	}
	return out
}

func (o *oracle) pyRow(r entry, py string) []rune {
	if slices.ContainsFunc(r.l("python_disputed"), func(d string) bool { return pyInside(d, py) }) {
		return []rune{maybe}
	}
	switch in := pyInside(r.s("python"), py); {
	case r.guess(), in && r.s("disputed") == "true":
		return []rune{maybe}
	default:
		return choose(in, yes, no)
	}
}

func (o *oracle) python(p map[string]string) (out []rune) {
	py := p["python"]
	if py == "" {
		return nil
	}
	if !o.read("num", py).ok {
		return choose(p["torch_npu"]+p["vllm_ascend"]+p["mindspore"]+p["mindie"] != "", maybe, maybe)[:1]
	}
	if n := p["torch_npu"]; n != "" {
		rows := append(o.pick("torch_npu.releases", "torch_npu", n), o.pick("torch_npu.tagged_packages", "torch_npu", n)...)
		i := slices.IndexFunc(rows, func(r entry) bool { return r.s("python") != "" })
		if i >= 0 {
			out = append(out, o.pyRow(rows[i], py)...)
		} else {
			for _, r := range o.tables["torch_npu.python_by_torch"] {
				if base(n) != "" && slices.Contains(r.l("torch"), base(n)) {
					out = append(out, o.pyRow(r, py)...)
				}
			}
		}
	}
	for part, table := range map[string]string{"vllm_ascend": "vllm_ascend.releases", "mindspore": "mindspore.rows", "mindie": "mindie.rows"} {
		if p[part] == "" {
			continue
		}
		rows := o.pick(table, part, p[part])
		if part == "mindie" {
			rows = o.mindieRow(p[part])
		}
		if i := slices.IndexFunc(rows, func(r entry) bool { return r.s("python") != "" }); i >= 0 {
			out = append(out, o.pyRow(rows[i], py)...)
		}
	}
	if r := o.cannRow(p["cann"]); r != nil && r["python"] != nil {
		span := r.m("python")
		if !pyInside(">="+span.s("min")+",<="+span.s("max"), py) {
			out = append(out, maybe)
		}
	}
	return out
}

// cannOf replaces the name of a download folder.
func (o *oracle) cannOf(v string) string {
	for _, r := range o.tables["cann.releases"] {
		if r.s("t_version") != "" && strings.EqualFold(r.s("t_version"), v) {
			return r.s("version")
		}
	}
	return v
}

func (o *oracle) cannRow(v string) entry {
	for _, r := range o.tables["cann.releases"] {
		if v != "" && o.same("cann", r.s("version"), o.cannOf(v)) {
			return r
		}
	}
	return nil
}

// engineNames: one engine entry has both.
func (o *oracle) engineNames(part, v, cann string) bool {
	for _, r := range o.tables["vllm_ascend.releases"] {
		if r.guess() || part == "pta" {
			continue
		}
		if r.s(part) != "" && o.same("pep", r.s(part), v) {
			if o.same("cann", r.s("cann"), cann) {
				return true
			}
			for _, image := range r.m("image_cann") {
				if o.same("cann", image.(string), cann) {
					return true
				}
			}
		}
		for _, s := range r.rows("also_accepted") {
			if s.s("disputed") != "true" && s.s(part) != "" && o.same("pep", s.s(part), v) && o.same("cann", s.s("cann"), cann) {
				return true
			}
		}
	}
	if part == "pta" {
		for _, r := range o.tables["mindie.rows"] {
			for _, s := range r.rows("sets") {
				if !r.guess() && s.s("pta") != "" && o.same("num", s.s("pta"), v) && o.same("cann", r.s("cann"), cann) {
					return true
				}
			}
		}
	}
	return false
}

func (o *oracle) torchCANN(p map[string]string) (out []rune) {
	if p["cann"] == "" {
		return nil
	}
	cann := o.cannOf(p["cann"])
	if n := p["torch_npu"]; n != "" {
		out = append(out, o.oneTorchCANN(n, cann))
	}
	if p["pta"] != "" && !o.packageOf(p["torch_npu"], p["pta"]) {
		out = append(out, o.ptaCANN([]string{p["pta"]}, cann, false))
	}
	return out
}

// packageOf: a row of the package is of this PTA, so its answer is that of both.
func (o *oracle) packageOf(npu, pta string) bool {
	if npu == "" {
		return false
	}
	for _, table := range []string{"releases", "tagged_packages", "dev_and_local"} {
		for _, r := range o.pick("torch_npu."+table, "torch_npu", npu) {
			if r.s("disputed") != "true" && r.s("pta") != "" && strings.EqualFold(r.s("pta"), pta) {
				return true
			}
		}
	}
	return false
}

func (o *oracle) oneTorchCANN(n, cann string) rune {
	var ptas []string
	disputed := false
	for _, table := range []string{"releases", "tagged_packages", "dev_and_local"} {
		for _, r := range o.pick("torch_npu."+table, "torch_npu", n) {
			in := o.read("cann", cann).ok && o.any("cann", r.l("cann"), cann)
			d := r.s("disputed") == "true"
			if in && !d && !r.guess() && r.s("cann_status") != "guess" {
				return yes
			}
			disputed = disputed || in && d
			if !d && !r.guess() && r.s("pta") != "" {
				ptas = append(ptas, r.s("pta"))
			}
		}
	}
	if o.engineNames("torch_npu", n, cann) {
		return yes
	}
	return o.ptaCANN(ptas, cann, disputed)
}

func (o *oracle) ptaCANN(ptas []string, cann string, disputed bool) rune {
	lowest := ""
	for _, r := range o.tables["torch_npu.pta_cann"] {
		for _, p := range ptas {
			if o.covers("num", r.s("pta"), p) && o.any("cann", r.l("cann"), cann) {
				return yes
			}
			if firstTwo(r.s("pta")) != firstTwo(p) {
				continue
			}
			for _, c := range r.l("cann") {
				c = strings.Replace(c, ".X", ".0", 1)
				if lowest == "" || o.below("cann", c, lowest) {
					lowest = c
				}
			}
		}
	}
	for _, p := range ptas {
		if o.engineNames("pta", p, cann) {
			return yes
		}
	}
	if !disputed && lowest != "" && o.below("cann", cann, lowest) {
		return no
	}
	return maybe
}

func firstTwo(v string) string {
	p := append(strings.SplitN(v, ".", 3), "", "")
	return p[0] + "." + p[1]
}

func (o *oracle) driver(p map[string]string) []rune {
	d, cann := p["driver"], o.cannOf(p["cann"])
	if d == "" || cann == "" {
		return nil
	}
	good := false
	for _, r := range o.tables["driver.cann_hdk"] {
		if !o.any("hdk", r.l("hdk"), d) || !o.any("cann", r.l("cann"), cann) || !o.speaksOf(r, p) {
			continue
		}
		switch r.s("relation") {
		case "not_compatible":
			return []rune{no}
		case "matched", "tested", "cloud", "compatible":
			good = good || !r.guess()
		}
	}
	if good {
		return []rune{yes}
	}
	for _, r := range o.tables["driver.cann_hdk_floor"] {
		if o.covers("cann", r.s("cann"), cann) && o.below("hdk", d, r.s("hdk")) && !r.guess() {
			return []rune{no}
		}
	}
	return []rune{maybe}
}

// speaksOf: chips of a entry hold the given chip, where both say something.
func (o *oracle) speaksOf(r entry, p map[string]string) bool {
	if len(r.l("chips")) == 0 || p["chip"] == "" {
		return true
	}
	c := o.chip(p["chip"])
	return c.ok && c.in(r.l("chips"))
}
