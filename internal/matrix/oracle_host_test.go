package matrix_test

import (
	"slices"
	"strings"
)

func (o *oracle) om(p map[string]string) []rune {
	want := p["soc_version"]
	if p["chip"] == "" || want == "" {
		return nil
	}
	c := o.chip(p["chip"])
	i := slices.IndexFunc(o.tables["chips.socs"], func(r entry) bool { return r.s("soc_version") == want })
	if !c.ok || i < 0 {
		return []rune{maybe}
	}
	r := o.tables["chips.socs"][i]
	switch {
	case c.soc == want:
		return []rune{yes}
	case c.soc == "" && c.gen == r.s("generation"), c.soc != "" && c.short == r.s("short"), c.arch != "" && c.arch == r.s("npu_arch"):
		return []rune{maybe}
	}
	return []rune{no}
}

func archName(a string) string {
	return strings.NewReplacer("arm64", "aarch64", "amd64", "x86_64").Replace(a)
}

func (o *oracle) packages(p map[string]string) (out []rune) {
	if p["kernels_package"] != "" && p["chip"] != "" {
		if c := o.chip(p["chip"]); !c.ok || c.family == nil {
			out = append(out, maybe)
		} else {
			out = append(out, choose(strings.EqualFold(c.family.s("kernels_package"), p["kernels_package"]), yes, no)...)
		}
	}
	cann := o.cannOf(p["cann"])
	if cann == "" {
		return out
	}
	if !o.read("cann", cann).ok && p["arch"]+p["nnal"]+p["ops_package"] != "" {
		return append(out, maybe)
	}
	if r := o.cannRow(cann); r != nil && p["arch"] != "" && !slices.Contains(r.l("arch"), archName(p["arch"])) {
		out = append(out, no)
	}
	if p["nnal"] != "" {
		out = append(out, choose(o.same("cann", p["nnal"], cann), yes, maybe)...)
	}
	switch ops := p["ops_package"]; {
	case ops == "":
	case ops == "none":
		out = append(out, choose(o.below("cann", cann, "8.5.0"), maybe, no)...)
	default:
		listed := slices.ContainsFunc(o.tables["cann.ops_toolkit"], func(r entry) bool { return o.same("cann", r.s("ops"), ops) && o.any("cann", r.l("toolkit"), cann) })
		out = append(out, choose(o.same("cann", ops, cann) || listed, yes, maybe)...)
	}
	return out
}

func atLeast(level, have string) bool { return pyInside(level, have) }

func (o *oracle) glibc(p map[string]string) (out []rune) {
	have := p["glibc"]
	if have == "" || p["torch_npu"]+p["mindie"] == "" {
		return nil
	}
	if !o.read("num", have).ok {
		return []rune{maybe}
	}
	if b := base(p["torch_npu"]); b != "" {
		levels := map[string]entry{}
		for _, r := range o.tables["torch_npu.wheels"] {
			if o.holds("pep", r.s("torch"), b) {
				for _, arch := range []string{"aarch64", "x86_64"} {
					if r.s("arch") == "both" || r.s("arch") == arch {
						levels[arch] = r
					}
				}
			}
		}
		x, a := levels["x86_64"], levels["aarch64"]
		r := levels[archName(p["arch"])]
		if p["arch"] == "" && x != nil && a != nil && x.s("glibc") == a.s("glibc") {
			r = x
			if a.guess() {
				r = a
			}
		}
		switch {
		case r == nil:
		case r.guess():
			out = append(out, maybe)
		default:
			out = append(out, choose(atLeast(r.s("glibc"), have), yes, no)...)
		}
	}
	if p["mindie"] != "" {
		for _, r := range o.tables["mindie.env"] {
			if r.s("item") != "glibc" {
				continue
			}
			low, high := r.m("value").s("abi0"), r.m("value").s("abi1")
			switch {
			case p["abi"] == "0":
				out = append(out, choose(atLeast(low, have), yes, no)...)
			case p["abi"] == "1":
				out = append(out, choose(atLeast(high, have), yes, no)...)
			case !atLeast(low, have):
				out = append(out, no)
			default:
				out = append(out, choose(atLeast(high, have), yes, maybe)...)
			}
		}
	}
	return out
}

func (o *oracle) firmware(p map[string]string) []rune {
	d, fw := p["driver"], p["firmware"]
	if d == "" || fw == "" {
		return nil
	}
	if !o.read("hdk", d).ok || !o.read("num", fw).ok {
		return []rune{maybe}
	}
	for _, r := range o.tables["driver.firmware_pairs"] {
		if o.same("hdk", r.s("hdk"), d) && o.same("num", r.s("firmware"), fw) && r.s("crossed") != "true" && o.speaksOf(r, p) && !r.guess() {
			return []rune{yes}
		}
	}
	sides := map[string]bool{}
	three := append(append([]int{}, o.read("num", fw).n...), 0, 0)[:3]
	for _, r := range o.tables["driver.inner_versions"] {
		component := r.s("component")
		if component == "driver" && o.any("hdk", r.l("version"), d) && r.s("compatible_version_fw") != "" && o.speaksOf(r, p) {
			sides[component] = true
			for _, m := range reSpan.FindAllStringSubmatch(r.s("compatible_version_fw"), -1) {
				if slices.Compare(three, o.read("num", m[1]).n) >= 0 && slices.Compare(three, o.read("num", m[2]).n) <= 0 {
					return []rune{yes}
				}
			}
		}
		if component == "firmware" && o.any("num", r.l("version"), fw) && len(r.l("compatible_version_drv")) > 0 {
			sides[component] = true
			for _, t := range r.l("compatible_version_drv") {
				if strings.HasPrefix(strings.ToLower(d)+".", t+".") {
					return []rune{yes}
				}
			}
		}
	}
	old := three[0] < 6 || three[0] == 6 && three[1] < 4
	return choose(old || len(sides) == 2, no, maybe)
}

func system(s string) (name, kernel string) {
	if m := reKernel.FindStringSubmatch(s); m != nil {
		s, kernel = m[1], m[2]
	}
	s = reBrackets.ReplaceAllString(s, "")
	s = reBlanks.ReplaceAllString(s, "")
	s = strings.ToLower(s)
	return reEuler.ReplaceAllString(s, "euleros"), kernel
}

func (o *oracle) productNames(p string) (names []string, known bool) {
	names = []string{strings.ToLower(p)}
	for _, r := range o.tables["os.product_aliases"] {
		if strings.EqualFold(r.s("alias"), p) {
			known = true
			for _, n := range r.l("rows") {
				names = append(names, strings.ToLower(n))
			}
		}
	}
	for _, t := range []string{"os.products", "os.other_lists", "os.kernels"} {
		for _, r := range o.tables[t] {
			known = known || strings.EqualFold(r.s("product"), p)
		}
	}
	return names, known
}

func (o *oracle) system(p map[string]string) []rune {
	if p["product"] == "" || p["os"] == "" {
		return nil
	}
	names, _ := o.productNames(p["product"])
	have, _ := system(p["os"])
	mine := func(r entry) bool {
		a := r.s("arch")
		return slices.Contains(names, strings.ToLower(r.s("product"))) && (a == "" || a == "both" || p["arch"] == "" || a == archName(p["arch"]))
	}
	kernel := strings.TrimSuffix(p["kernel"], "-generic")
	for _, r := range o.tables["os.kernels"] {
		name, _ := system(r.s("os"))
		if r.s("refused") == "true" && mine(r) && name == have && kernel != "" && kernel == strings.TrimSuffix(r.s("default_kernel"), "-generic") {
			return []rune{no}
		}
	}
	for _, t := range []string{"os.products", "os.other_lists"} {
		for _, r := range o.tables[t] {
			for _, listed := range r.l("os") {
				name, want := system(listed)
				want = strings.TrimSuffix(want, "-generic")
				if mine(r) && name == have && (want == "" || kernel == "" || kernel == want || strings.HasPrefix(kernel, want+".") || strings.HasPrefix(kernel, want+"-")) {
					return []rune{yes}
				}
			}
		}
	}
	return []rune{maybe}
}

func (o *oracle) exists(p map[string]string) (out []rune) {
	if p["chip"] != "" && !o.chip(p["chip"]).ok {
		out = append(out, maybe)
	}
	if p["product"] != "" {
		if _, known := o.productNames(p["product"]); !known {
			out = append(out, maybe)
		}
	}
	where := map[string][]string{"cann": {"cann.releases"}, "torch_npu": {"torch_npu.releases", "torch_npu.tagged_packages", "torch_npu.dev_and_local"},
		"vllm_ascend": {"vllm_ascend.releases"}, "mindie": {"mindie.rows"}, "mindspore": {"mindspore.rows"}}
	for part, tables := range where {
		v := p[part]
		if v == "" {
			continue
		}
		if part == "cann" {
			v = strings.Join(strings.Fields(o.cannOf(v)), ".")
		}
		named := false
		for _, r := range o.tables["nonexistent.nonexistent"] {
			if !named && r.s("component") == part && o.holds(kinds[part], r.s("version"), v) {
				named = true
				out = append(out, choose(r.s("verdict") == "unsupported", no, maybe)...)
			}
		}
		known := named
		for _, t := range tables {
			column := part
			if part == "cann" {
				column = "version"
			}
			for _, r := range o.tables[t] {
				known = known || o.same(kinds[part], r.s(column), v) || part == "mindie" && o.any("num", r.l("aliases"), v)
			}
		}
		if !known {
			out = append(out, maybe)
		}
	}
	return out
}

func (o *oracle) knownBad(p map[string]string) (out []rune) {
	for _, r := range o.tables["known_bad.known_bad"] {
		all := true
		for part := range r.m("when") {
			v, hit := p[part], false
			for _, cond := range r.m("when").l(part) {
				switch {
				case v == "":
				case part == "chip":
					hit = hit || o.chip(v).gen == cond
				case kinds[part] == "":
					hit = hit || cond == "*" || strings.EqualFold(cond, v)
				case part == "cann":
					hit = hit || o.holds("cann", cond, o.cannOf(v))
				default:
					hit = hit || o.holds(kinds[part], cond, v)
				}
			}
			all = all && hit
		}
		if all {
			out = append(out, choose(r.s("verdict") == "unsupported", no, maybe)...)
		}
	}
	return out
}
