package matrix

import (
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// r07: bf16 is a property of the chip.
func (s *stack) r07() {
	if !s.has("chip", "dtype") {
		return
	}
	switch dtype := strings.ToLower(s.given["dtype"]); dtype {
	case "float16", "fp16", "float32", "fp32", "int8":
		return
	case "bf16", "bfloat16":
		if !s.chipOK {
			s.add("R07", s.noChip(), "dtype", "chip")
			return
		}
		j := judged{answer: evidence(s.chip.row), file: "chips", row: s.chip.row, text: report.T("%s computes bf16", "%s 支持 bf16 计算", s.given["chip"])}
		if !s.chip.BF16 && !guess(s.chip.row) {
			j.answer, j.text = Unsupported, report.T("%s has no bf16", "%s 不支持 bf16", s.given["chip"])
			j.near = []Near{{Part: "dtype", Value: "float16"}}
		}
		s.add("R07", j, "dtype", "chip")
	default:
		s.add("R07", judged{answer: Unknown, text: report.T("nothing is said about dtype %s", "没有关于 dtype %s 的说明", s.given["dtype"])}, "dtype", "chip")
	}
}

// r08: numpy and CANN. numpy 2 came with CANN 9.0.0; before, only Python 3.13
// had it from 8.5.0 on.
func (s *stack) r08() {
	if !s.has("numpy", "cann") {
		return
	}
	numpy, cann := s.version["numpy"], s.version["cann"]
	if j := unread(s, "numpy", "cann"); j.answer != "" {
		s.add("R08", j, "numpy", "cann")
		return
	}
	is := func(op string) bool { return parsePattern(PEP440, op).has(numpy, "") }
	from := func(v string) bool { return parsePattern(CANN, ">="+v).has(cann, "") }
	parts := []string{"numpy", "cann"}
	say := func(a Answer, text report.Text) {
		j := judged{answer: a, text: text}
		if a == Unsupported {
			j.near = []Near{{Part: "numpy", Value: "<2.0.0"}}
		}
		s.add("R08", j, parts...)
	}
	switch {
	case numpy.key[0] >= 3:
		say(Unknown, report.T("nothing is said about numpy %s", "没有关于 numpy %s 的说明", numpy.Text))
	case from("9.0.0") && is(">=1.19.2"):
		say(Supported, report.T("CANN %s takes numpy from 1.19.2 on", "CANN %s 支持 1.19.2 及以上的 numpy", cann.Text))
	case from("9.0.0"):
		say(Unknown, report.T("numpy %s is older than 1.19.2", "numpy %s 早于 1.19.2", numpy.Text))
	case numpy.key[0] < 2:
		say(Supported, report.T("CANN %s takes numpy below 2", "CANN %s 支持 2 以下的 numpy", cann.Text))
	case !from("8.5.0"):
		say(Unsupported, report.T("CANN %s needs numpy below 2, not %s", "CANN %s 需要 2 以下的 numpy，而非 %s", cann.Text, numpy.Text))
	default:
		parts = append(parts, s.present("python")...)
		s.numpy2(cann, numpy, say)
	}
}

func (s *stack) numpy2(cann, numpy Version, say func(Answer, report.Text)) {
	only, _ := Parse(Opaque, "3.13")
	py := s.version["python"]
	text := report.T("CANN %s takes numpy %s only with Python 3.13", "CANN %s 仅在 Python 3.13 下支持 numpy %s", cann.Text, numpy.Text)
	switch {
	case !py.Known():
		say(Unknown, text)
	case py.minor().Equal(only):
		say(Supported, text)
	case py.minor().before(only):
		say(Unsupported, text)
	default:
		say(Unknown, text)
	}
}

// r12: the chip an OM is compiled for and the chip it shall run on.
func (s *stack) r12() {
	if !s.has("chip", "soc_version") {
		return
	}
	if !s.chipOK {
		s.add("R12", s.noChip(), "soc_version", "chip")
		return
	}
	want := s.given["soc_version"]
	i := slices.IndexFunc(s.m.socs(), func(r socRow) bool { return r.soc == want })
	if i < 0 {
		j := judged{answer: Unknown, text: report.T("no SoC is called %q; the case counts", "没有名为 %q 的 SoC；区分大小写", want)}
		for _, r := range s.m.socs() {
			if strings.EqualFold(r.soc, want) || strings.EqualFold(r.soc, "ascend"+want) {
				j.near = []Near{{Part: "soc_version", Value: r.soc}}
			}
		}
		s.add("R12", j, "soc_version", "chip")
		return
	}
	soc, c := s.m.socs()[i], s.chip
	j := judged{answer: Unsupported, file: "chips", row: soc.Row, text: report.T("an OM for %s does not load on %s", "面向 %s 的 OM 无法在 %s 上加载", want, s.given["chip"])}
	switch {
	case c.SoC == soc.soc:
		j.answer, j.text = evidence(soc.Row), report.T("the same SoC", "同一 SoC")
	case c.SoC == "" && c.Generation == soc.generation:
		j.answer, j.text = Unknown, report.T("the generation fits, the SoC was not given", "代际相符，未给出 SoC")
	case c.Short == soc.short && c.Short != "":
		j.answer, j.text = Unknown, report.T("it loads, but is tuned for other core counts", "可以加载，但按其他核数调优")
	case c.Arch == soc.arch && c.Arch != "":
		j.answer, j.text = Unknown, report.T("the same architecture, but another product: nothing is promised", "架构相同但产品不同：没有承诺")
	}
	if j.answer != Supported && c.SoC != "" && c.SoC != soc.soc {
		j.near = []Near{{Part: "soc_version", Value: c.SoC}}
	}
	s.add("R12", j, "soc_version", "chip")
}

// osName makes spellings of one system equal: without case, blanks, dashes,
// the word LTS and text in brackets. The kernel behind a listed system comes
// separately.
func osName(text string) (name, kernel string) {
	if before, after, ok := strings.Cut(text, "[kernel "); ok {
		kernel = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(after), "]"))
		text = before
	}
	for {
		open := strings.IndexByte(text, '(')
		end := strings.IndexByte(text, ')')
		if open < 0 || end < open {
			break
		}
		text = text[:open] + text[end+1:]
	}
	text = strings.ToLower(text)
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
	words = slices.DeleteFunc(words, func(w string) bool { return w == "lts" })
	name = strings.Join(words, "")
	if rest, ok := strings.CutPrefix(name, "euler"); ok && !strings.HasPrefix(rest, "os") {
		name = "euleros" + rest
	}
	return name, kernel
}

// sameKernel compares by the part before -generic; a condition such as 6.6 holds
// for every kernel that begins with it.
func sameKernel(have, want string) bool {
	have, want = strings.TrimSuffix(have, "-generic"), strings.TrimSuffix(want, "-generic")
	rest, ok := strings.CutPrefix(have, want)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '-')
}

// productRows are the row names that a product name stands for; known is false
// for a name that is neither one nor an alias.
func (m *Matrix) productRows(product string) (names []string, known bool) {
	fold := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	want := fold(product)
	names = []string{want}
	for _, a := range m.plain("os.product_aliases") {
		if fold(a.Str("alias")) == want {
			known = true
			for _, r := range a.Strs("rows") {
				names = append(names, fold(r))
			}
		}
	}
	for _, section := range []string{"os.products", "os.other_lists", "os.kernels"} {
		for _, r := range m.plain(section) {
			known = known || fold(r.Str("product")) == want
		}
	}
	return names, known
}

// plain gives the rows of a section as they are.
func (m *Matrix) plain(section string) []*book.Row {
	return table(m, section, func(r *book.Row) *book.Row { return r })
}

// r14: the C library is new enough for the wheels.
func (s *stack) r14() {
	if !s.has("glibc") || !s.hasAny("torch_npu", "mindie") {
		return
	}
	have := s.version["glibc"]
	if !have.Known() {
		s.add("R14", unread(s, "glibc"), "glibc")
		return
	}
	if s.has("torch_npu") && s.version["torch_npu"].Known() {
		s.add("R14", s.wheelGlibc(have), "glibc", "torch_npu")
	}
	if s.has("mindie") {
		s.add("R14", s.mindieGlibc(have), "glibc", "mindie")
	}
}

// wheelGlibc: the level of the wheels of this torch and arch; without an arch
// only where both have the same.
func (s *stack) wheelGlibc(have Version) judged {
	base, _ := Parse(PEP440, s.version["torch_npu"].Base())
	level := map[string]*book.Row{}
	for _, r := range s.m.plain("torch_npu.wheels") {
		if !parseSpec(PEP440, r.Str("torch")).has(base, "") {
			continue
		}
		for _, arch := range []string{"x86_64", "aarch64"} {
			if a := r.Str("arch"); (a == arch || a == "both") && level[arch] == nil {
				level[arch] = r
			}
		}
	}
	row := level[s.version["arch"].Text]
	if !s.has("arch") {
		x, a := level["x86_64"], level["aarch64"]
		if x == nil || a == nil || x.Str("glibc") != a.Str("glibc") {
			return judged{}
		}
		if row = x; guess(a) {
			row = a
		}
	}
	if row == nil {
		return judged{}
	}
	return glibcLevel("torch_npu", row, row.Str("glibc"), have)
}

func glibcLevel(file string, row *book.Row, level string, have Version) judged {
	want := parsePattern(Opaque, level)
	j := judged{answer: evidence(row), file: file, row: row, text: report.T("glibc %s, wanted %s", "glibc %s，要求 %s", have.Text, level)}
	switch {
	case j.answer != Supported:
		j.text = suspected(row, j.text)
	case have.before(want.v):
		j.answer = Unsupported
	}
	return j
}

// mindieGlibc: each ABI has its level; without one, what is below the lower is
// unsupported and what is between them unknown.
func (s *stack) mindieGlibc(have Version) judged {
	for _, r := range s.m.plain("mindie.env") {
		if r.Str("item") != "glibc" {
			continue
		}
		levels := r.Get("value")
		low, high := levels.Str("abi0"), levels.Str("abi1")
		switch abi := s.given["abi"]; abi {
		case "0", "1":
			return glibcLevel("mindie", r, levels.Str("abi"+abi), have)
		}
		if j := glibcLevel("mindie", r, low, have); j.answer != Supported {
			return j
		}
		j := glibcLevel("mindie", r, high, have)
		if j.answer == Unsupported {
			j.answer = Unknown
		}
		return j
	}
	return judged{}
}

// r16: the system is in a list of the product. Absence is not a refusal, for
// communities run unlisted systems; a kernel that is refused by name is one.
func (s *stack) r16() {
	if !s.has("product", "os") {
		return
	}
	names, _ := s.m.productRows(s.given["product"])
	mine := func(r *book.Row) bool {
		arch := r.Str("arch")
		return slices.Contains(names, strings.ToLower(strings.Join(strings.Fields(r.Str("product")), " "))) &&
			(arch == "" || arch == "both" || !s.has("arch") || arch == s.version["arch"].Text)
	}
	have, _ := osName(s.given["os"])
	j := judged{answer: Unknown, text: report.T("%s is in no list of %s; that is no refusal", "%s 不在 %s 的任何列表中；这不等于不支持", s.given["os"], s.given["product"])}
	for _, section := range []string{"os.products", "os.other_lists"} {
		for _, r := range s.m.plain(section) {
			if !mine(r) || j.answer == Supported {
				continue
			}
			for _, listed := range r.Strs("os") {
				name, kernel := osName(listed)
				if name == have && (kernel == "" || !s.has("kernel") || sameKernel(s.given["kernel"], kernel)) {
					j = judged{answer: evidence(r), file: "os", row: r, text: report.T("%s is listed for %s", "%s 已列入 %s 的支持列表", listed, r.Str("product"))}
				}
			}
		}
	}
	s.add("R16", j, "os", "product")
	for _, r := range s.m.plain("os.kernels") {
		name, _ := osName(r.Str("os"))
		if r.Str("refused") == "true" && mine(r) && name == have && s.has("kernel") &&
			strings.TrimSuffix(s.given["kernel"], "-generic") == strings.TrimSuffix(r.Str("default_kernel"), "-generic") {
			a := Unsupported
			if guess(r) {
				a = Unknown
			}
			s.add("R16", judged{answer: a, file: "os", row: r, text: report.T("the driver does not install on kernel %s: %s", "驱动无法在内核 %s 上安装：%s",
				s.given["kernel"], r.Prose("driver_install"))}, "kernel", "os", "product")
		}
	}
}
