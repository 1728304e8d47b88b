package matrix_test

import (
	"slices"
	"strings"
)

func (o *oracle) vllm(p map[string]string) (out []rune) {
	rows := o.pick("vllm_ascend.releases", "vllm_ascend", p["vllm_ascend"])
	if p["vllm_ascend"] == "" || len(rows) == 0 {
		return nil
	}
	r := rows[0]
	for _, part := range []string{"vllm", "torch"} {
		switch {
		case p[part] == "":
		case r[part] == nil, !o.read("pep", p[part]).ok:
			out = append(out, maybe)
		default:
			out = append(out, choose(o.any("pep", r.l(part), p[part]), yes, no)...)
		}
	}
	out = append(out, o.sets(r, p)...)
	if p["mindie_turbo"] != "" {
		out = append(out, choose(r["mindie_turbo"] != nil && o.same("pep", r.s("mindie_turbo"), p["mindie_turbo"]), yes, maybe)...)
	}
	for part, bad := range map[string]rune{"numpy": no, "transformers": maybe} {
		pin, has := r.m("pins")[part].(string)
		cond := reName.ReplaceAllString(pin, "")
		switch {
		case p[part] == "":
		case !has, !o.read("pep", p[part]).ok:
			out = append(out, maybe)
		case cond != "" && !o.holds("pep", cond, p[part]):
			out = append(out, bad)
		}
	}
	return out
}

func (o *oracle) sets(r entry, p map[string]string) (out []rune) {
	parts := []string{"cann", "torch_npu", "triton_ascend"}
	var given []string
	for _, part := range parts {
		if p[part] != "" {
			given = append(given, part)
		}
	}
	if len(given) == 0 {
		return nil
	}
	own := entry{}
	for _, part := range parts {
		own[part] = r[part]
	}
	if c := o.chip(p["chip"]); p["chip"] != "" && c.ok {
		if image, ok := r.m("image_cann")[c.family.s("kernels_package")]; ok {
			own["cann"] = image
		}
	}
	sets := append([]entry{own}, r.rows("also_accepted")...)
	fit := func(s entry, part string) bool {
		v := p[part]
		if part == "cann" {
			v = o.cannOf(v)
		}
		return s.s(part) != "" && o.same(kinds[part], s.s(part), v)
	}
	best := rune(0)
	for _, s := range sets {
		if !slices.ContainsFunc(given, func(part string) bool { return !fit(s, part) }) {
			if s.s("disputed") != "true" {
				return []rune{yes}
			}
			best = maybe
		}
	}
	if best != 0 {
		return []rune{best}
	}
	for _, part := range given {
		if !slices.ContainsFunc(sets, func(s entry) bool { return fit(s, part) }) {
			out = append(out, o.inNoSet(r, sets, part, p[part]))
		}
	}
	if len(out) == 0 {
		out = []rune{maybe}
	}
	return out
}

// inNoSet is the answer for a part that no accepted set has.
func (o *oracle) inNoSet(r entry, sets []entry, part, v string) rune {
	named, older := 0, true
	for _, s := range sets {
		if s.s(part) != "" {
			named++
			older = older && o.below(kinds[part], o.cannOf(v), s.s(part))
		}
	}
	switch {
	case named == 0, !o.read(kinds[part], o.cannOf(v)).ok:
		return maybe
	case part == "cann":
		return choose(older, no, maybe)[0]
	case part == "torch_npu":
		pin := strings.TrimPrefix(r.m("pins").s("torch_npu"), "torch-npu==")
		return choose(pin != "" && o.same("pep", pin, v), maybe, no)[0]
	}
	return maybe
}

func (o *oracle) chipEngine(p map[string]string) (out []rune) {
	if p["chip"] == "" {
		return nil
	}
	c := o.chip(p["chip"])
	for _, part := range []string{"vllm_ascend", "sglang", "mindie", "torch_npu", "mindspore"} {
		switch {
		case p[part] == "":
		case !c.ok:
			out = append(out, maybe)
		case c.family.m("engines").s(part) == "no":
			out = append(out, no)
		case part == "vllm_ascend":
			rows := o.pick("vllm_ascend.releases", part, p[part])
			if len(rows) == 0 {
				continue
			}
			soc := rows[0].l("soc")
			switch {
			case c.in(soc):
				out = append(out, yes)
			case len(soc) == 0, c.in(rows[0].l("soc_disputed")), c.gen == "950" && c.variant != "950DT" && slices.Contains(append(soc, rows[0].l("soc_disputed")...), "950DT"):
				out = append(out, maybe)
			default:
				out = append(out, no)
			}
		case part == "sglang":
			found := slices.ContainsFunc(o.tables["sglang.images"], func(r entry) bool { return o.any("pep", r.l("sglang"), p[part]) && c.in(r.l("chips")) })
			out = append(out, choose(found, yes, maybe)...)
		}
	}
	return out
}

func (o *oracle) dtype(p map[string]string) []rune {
	if p["chip"] == "" || p["dtype"] == "" {
		return nil
	}
	switch strings.ToLower(p["dtype"]) {
	case "float16", "fp16", "float32", "fp32", "int8":
		return nil
	case "bf16", "bfloat16":
		c := o.chip(p["chip"])
		if !c.ok {
			return []rune{maybe}
		}
		return choose(c.bf16, yes, no)
	}
	return []rune{maybe}
}

func (o *oracle) numpy(p map[string]string) []rune {
	n, cann := p["numpy"], o.cannOf(p["cann"])
	if n == "" || cann == "" {
		return nil
	}
	if !o.read("pep", n).ok || !o.read("cann", cann).ok || !o.below("pep", n, "3.dev0") {
		return []rune{maybe}
	}
	two := !o.below("pep", n, "2.dev0")
	switch {
	case !o.below("cann", cann, "9.0.0"):
		return choose(!o.below("pep", n, "1.19.2"), yes, maybe)
	case !two:
		return []rune{yes}
	case o.below("cann", cann, "8.5.0"):
		return []rune{no}
	}
	x, y := twoNumbers(p["python"])
	switch {
	case p["python"] == "" || !o.read("num", p["python"]).ok:
		return []rune{maybe}
	case x == 3 && y == 13:
		return []rune{yes}
	}
	return choose(x < 3 || x == 3 && y < 13, no, maybe)
}

func (o *oracle) triton(p map[string]string) (out []rune) {
	t := p["triton_ascend"]
	if t == "" {
		return nil
	}
	if p["triton"] != "" {
		out = append(out, no)
	}
	if p["chip"] != "" {
		out = append(out, map[string]rune{"no": no, "yes": yes}[o.chip(p["chip"]).family.m("engines").s("triton_ascend")])
		if out[len(out)-1] == 0 {
			out[len(out)-1] = maybe
		}
	}
	if cann := o.cannOf(p["cann"]); cann != "" {
		listed := slices.ContainsFunc(o.tables["others.others"], func(r entry) bool {
			return r.s("package") == "triton-ascend" && !r.guess() && o.any("pep", r.l("version"), t) && o.any("cann", r.l("cann"), cann)
		})
		out = append(out, choose(listed || o.engineNames("triton_ascend", t, cann), yes, maybe)...)
	}
	return out
}

func (o *oracle) mindieRow(v string) (out []entry) {
	for _, r := range o.tables["mindie.rows"] {
		if slices.ContainsFunc(append([]string{r.s("mindie")}, r.l("aliases")...), func(n string) bool { return o.same("num", n, v) }) {
			out = append(out, r)
		}
	}
	return out
}

func (o *oracle) mindie(p map[string]string) (out []rune) {
	if p["mindie"] == "" || p["cann"]+p["torch"]+p["pta"]+p["abi"]+p["driver"] == "" {
		return nil
	}
	rows := o.mindieRow(p["mindie"])
	if len(rows) == 0 || rows[0].guess() {
		return []rune{maybe}
	}
	r := rows[0]
	if cann := o.cannOf(p["cann"]); cann != "" {
		if r.s("cann") == "" || !o.read("cann", cann).ok {
			out = append(out, maybe)
		} else {
			out = append(out, choose(o.same("cann", r.s("cann"), cann), yes, no)...)
		}
	}
	if p["torch"]+p["pta"]+p["abi"] != "" {
		answer := no
		for _, s := range r.rows("sets") {
			whole, clash := true, false
			for _, part := range []string{"torch", "pta", "abi"} {
				if p[part] == "" {
					continue
				}
				kind := kinds[part]
				if s.s(part) == "" {
					whole = false
				} else if part == "abi" && s.s(part) != p[part] || part != "abi" && !o.same(kind, s.s(part), p[part]) {
					clash = true
				}
			}
			if !clash && whole {
				answer = yes
				break
			} else if !clash {
				answer = maybe
			}
		}
		if r["sets"] == nil {
			answer = maybe
		}
		out = append(out, answer)
	}
	if hdk := r.l("hdk"); p["driver"] != "" && len(hdk) > 0 {
		switch {
		case o.any("hdk", hdk, p["driver"]):
			out = append(out, yes)
		case !slices.ContainsFunc(hdk, func(h string) bool { return !o.below("hdk", p["driver"], h) }):
			out = append(out, no)
		}
	}
	return out
}

func (o *oracle) mindspore(p map[string]string) []rune {
	if p["mindspore"] == "" || p["cann"] == "" {
		return nil
	}
	rows := o.pick("mindspore.rows", "mindspore", p["mindspore"])
	return choose(slices.ContainsFunc(rows, func(r entry) bool {
		return !r.guess() && r.s("cann") != "" && o.covers("cann", r.s("cann"), o.cannOf(p["cann"]))
	}), yes, maybe)
}
