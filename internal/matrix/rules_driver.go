package matrix

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// hdkRow is a row of driver.cann_hdk or driver.cann_hdk_floor.
type hdkRow struct {
	*book.Row
	cann, hdk anyOf
	chips     []string
	relation  string
}

func readHDK(r *book.Row) hdkRow {
	return hdkRow{r, parseAny(CANN, r.Strs("cann")), parseAny(HDK, r.Strs("hdk")), r.Strs("chips"), r.Str("relation")}
}

func (m *Matrix) hdks() []hdkRow { return table(m, "driver.cann_hdk", readHDK) }

// where limits a question to a chip; the zero value asks about any.
type where struct {
	chip  Chip
	given bool
}

// covers is true when a row that may name chips speaks of this one.
func (w where) covers(chips []string) bool {
	return !w.given || len(chips) == 0 || w.chip.among(chips)
}

func (s *stack) where() where { return where{s.chip, s.has("chip")} }

// r04: driver package and CANN.
func (s *stack) r04() {
	if !s.has("driver", "cann") {
		return
	}
	driver, cann := s.version["driver"], s.version["cann"]
	if !driver.Known() || !cann.Known() {
		s.add("R04", unread(s, "driver", "cann"), "driver", "cann")
		return
	}
	j := s.m.driverCANN(driver, cann, s.where())
	if j.answer != Supported && !s.lonely {
		j.near = s.m.nearDriver(driver, cann, s.where())
	}
	s.add("R04", j, "driver", "cann")
}

// nearDriver asks only the rows that name the side that stays.
func (m *Matrix) nearDriver(driver, cann Version, w where) []Near {
	with := func(has func(hdkRow) bool) (out []hdkRow) {
		for _, r := range m.hdks() {
			if has(r) {
				out = append(out, r)
			}
		}
		return out
	}
	ofDriver, ofCANN := with(func(r hdkRow) bool { return r.hdk.has(driver) }), with(func(r hdkRow) bool { return r.cann.has(cann) })
	return append(near("cann", cann, m.finals(), func(c Version) judged { return cells(ofDriver, driver, c, w) }),
		near("driver", driver, m.drivers(), func(d Version) judged { return cells(ofCANN, d, cann, w) })...)
}

// driverCANN: a refusal wins, then the strongest promise, then the lower end of
// a published window. Where no window was published there is no lower end.
func (m *Matrix) driverCANN(driver, cann Version, w where) judged {
	j := cells(m.hdks(), driver, cann, w)
	if j.answer != Unknown {
		return j
	}
	for _, f := range table(m, "driver.cann_hdk_floor", readHDK) {
		if len(f.hdk) == 0 || !f.cann.has(cann) || !w.covers(f.chips) || !driver.before(f.hdk[0][0].floorHDK()) {
			continue
		}
		j = judged{answer: Unsupported, file: "driver", row: f.Row, text: report.T("driver %s is older than %s, where the published window of CANN %s begins",
			"驱动 %s 早于 %s，后者为 CANN %s 公布的配套范围起点", driver.Text, f.Str("hdk"), f.Str("cann"))}
		if evidence(f.Row) != Supported {
			j.answer = Unknown
		}
		return j
	}
	if j.text.IsZero() {
		j.text = report.T("nothing is said about driver %s with CANN %s", "没有关于驱动 %s 与 CANN %s 的说明", driver.Text, cann.Text)
	}
	return j
}

// cells gives what rows say of a pair, without the lower ends of windows.
func cells(rows []hdkRow, driver, cann Version, w where) judged {
	j := judged{answer: Unknown}
	for _, r := range rows {
		if !r.hdk.has(driver) || !r.cann.has(cann) || !w.covers(r.chips) {
			continue
		}
		cell := report.T("CANN %s with driver %s: %s", "CANN %s 与驱动 %s：%s", strings.Join(r.Strs("cann"), ", "), strings.Join(r.Strs("hdk"), ", "), r.relation)
		tier := Tier(r.relation)
		switch {
		case r.relation == "not_compatible" && evidence(r.Row) == Supported:
			return judged{answer: Unsupported, file: "driver", row: r.Row, text: cell}
		case !slices.Contains(tiers, tier):
		case evidence(r.Row) != Supported:
			if j.row == nil {
				j.file, j.row, j.text = "driver", r.Row, suspected(r.Row, cell)
			}
		case j.answer != Supported || weaker(tier, j.tier) == j.tier && tier != j.tier:
			j = judged{answer: Supported, tier: tier, file: "driver", row: r.Row, text: cell}
		}
	}
	return j
}

// floorHDK gives the driver a pattern starts at: 25.2.X starts at its first RC.
func (p pattern) floorHDK() Version {
	if p.op != "X" {
		return p.v
	}
	v, _ := Parse(HDK, dotted(p.line[:2])+".RC0")
	return v
}

// drivers are the versions that some row names exactly, newest first.
func (m *Matrix) drivers() []Version { return m.sorted("drivers", m.allDrivers) }

func (m *Matrix) allDrivers() (out []Version) {
	seen := map[string]bool{}
	add := func(text string) {
		if v, ok := Parse(HDK, text); ok && !seen[v.Text] {
			seen[v.Text] = true
			out = append(out, v)
		}
	}
	for _, r := range m.plain("driver.lines") {
		for _, t := range r.Strs("versions") {
			add(t)
		}
	}
	for _, r := range m.hdks() {
		for _, t := range r.Strs("hdk") {
			add(t)
		}
	}
	return out
}

// CANNFor lists the CANN releases that a driver is promised for, newest first;
// chip may be empty.
func (m *Matrix) CANNFor(driver, chip string) (out []string) {
	d, _ := Parse(HDK, driver)
	w := m.at(chip)
	known := m.finals()
	slices.SortFunc(known, newest)
	for _, c := range known {
		if m.driverCANN(d, c, w).answer == Supported {
			out = append(out, c.Text)
		}
	}
	return out
}

// DriversFor lists the drivers that a CANN release is promised on, newest
// first; chip may be empty.
func (m *Matrix) DriversFor(cann, chip string) (out []string) {
	c := m.cann(cann)
	w := m.at(chip)
	known := m.drivers()
	slices.SortFunc(known, newest)
	for _, d := range known {
		if m.driverCANN(d, c, w).answer == Supported {
			out = append(out, d.Text)
		}
	}
	return out
}

func (m *Matrix) at(chip string) where {
	c, _ := m.Chip(chip)
	return where{c, chip != ""}
}

// innerRow is a row of driver.inner_versions: what a package prints about what
// it accepts.
type innerRow struct {
	*book.Row
	versions []Version
	firmware []fwRange // of a driver
	drivers  []string  // of a firmware
}

// fwRange has both ends, compared by the first three numbers.
type fwRange struct{ low, high [3]int64 }

func (m *Matrix) inners(component string) (out []innerRow) {
	for _, r := range table(m, "driver.inner_versions", func(r *book.Row) innerRow {
		scheme := HDK
		if r.Str("component") == "firmware" {
			scheme = Opaque
		}
		in := innerRow{Row: r, firmware: readRanges(r.Str("compatible_version_fw")), drivers: r.Strs("compatible_version_drv")}
		for _, t := range r.Strs("version") {
			v, _ := Parse(scheme, t)
			in.versions = append(in.versions, v)
		}
		return in
	}) {
		if r.Str("component") == component {
			out = append(out, r)
		}
	}
	return out
}

// readRanges reads [6.4.0,6.4.99],[7.0.0,7.7.99].
func readRanges(text string) (out []fwRange) {
	for _, piece := range strings.Split(text, "]") {
		low, high, ok := strings.Cut(strings.TrimLeft(piece, ",[ "), ",")
		a, okA := Parse(Opaque, low)
		b, okB := Parse(Opaque, high)
		if ok && okA && okB {
			out = append(out, fwRange{[3]int64(a.key[:3]), [3]int64(b.key[:3])})
		}
	}
	return out
}

// r15: driver and firmware; either side may accept the other. On a host the
// card's own answer wins over this one.
func (s *stack) r15() {
	if !s.has("driver", "firmware") {
		return
	}
	if j := unread(s, "driver", "firmware"); j.answer != "" {
		s.add("R15", j, "driver", "firmware")
		return
	}
	s.add("R15", s.m.firmware(s.version["driver"], s.version["firmware"], s.where()), "driver", "firmware")
}

func (m *Matrix) firmware(driver, fw Version, w where) judged {
	yes := func(r *book.Row, text report.Text) judged {
		return judged{answer: evidence(r), file: "driver", row: r, text: suspected(r, text)}
	}
	var doubt judged
	for _, r := range m.plain("driver.firmware_pairs") {
		if !parseAny(HDK, r.Strs("hdk")).has(driver) || !parseAny(Opaque, r.Strs("firmware")).has(fw) || !w.covers(r.Strs("chips")) || r.Str("crossed") == "true" {
			continue
		}
		if doubt = yes(r, report.T("driver %s is released with firmware %s", "驱动 %s 与固件 %s 配套发布", driver.Text, fw.Text)); doubt.answer == Supported {
			return doubt
		}
	}
	known := map[string]bool{} // sides whose list is known
	for _, r := range m.inners("driver") {
		if !slices.ContainsFunc(r.versions, driver.Equal) || !w.covers(r.Strs("chips")) || len(r.firmware) == 0 {
			continue
		}
		known["driver"] = true
		at := [3]int64(fw.key[:3])
		for _, span := range r.firmware {
			if slices.Compare(at[:], span.low[:]) >= 0 && slices.Compare(at[:], span.high[:]) <= 0 {
				if doubt = yes(r.Row, report.T("the range of driver %s has firmware %s", "驱动 %s 的范围包含固件 %s", driver.Text, fw.Text)); doubt.answer == Supported {
					return doubt
				}
			}
		}
	}
	for _, r := range m.inners("firmware") {
		if !slices.ContainsFunc(r.versions, fw.Equal) || len(r.drivers) == 0 {
			continue
		}
		known["firmware"] = true
		for _, t := range r.drivers {
			if startsWith(driver, t) {
				if doubt = yes(r.Row, report.T("the list of firmware %s has driver %s", "固件 %s 的列表包含驱动 %s", fw.Text, driver.Text)); doubt.answer == Supported {
					return doubt
				}
			}
		}
	}
	switch {
	case fw.key[0] < 6 || fw.key[0] == 6 && fw.key[1] < 4:
		return judged{answer: Unsupported, text: report.T("drivers refuse firmware older than 6.4", "驱动拒绝早于 6.4 的固件")}
	case len(known) == 2 && doubt.answer == "":
		return judged{answer: Unsupported, text: report.T("neither the range of driver %s nor the list of firmware %s has the other", "驱动 %s 的范围与固件 %s 的列表均不包含对方", driver.Text, fw.Text)}
	case doubt.answer != "":
		return doubt
	}
	return judged{answer: Unknown, text: report.T("nothing says that driver %s takes firmware %s: ask the card (Compatibility of npu-smi info -t board, as root)",
		"没有说明驱动 %s 接受固件 %s：以 root 查询 npu-smi info -t board 中的 Compatibility", driver.Text, fw.Text)}
}

// startsWith: 24.1 stands for every 24.1.*, 23.0.0 for itself and its patches.
func startsWith(v Version, prefix string) bool {
	p, ok := Parse(Opaque, prefix)
	n := strings.Count(prefix, ".") + 1
	return ok && slices.Equal(v.key[:n], p.key[:n])
}

// r13: operator packages, nnal and architecture belong to the CANN.
func (s *stack) r13() {
	if s.has("kernels_package", "chip") {
		s.add("R13", s.kernels(), "kernels_package", "chip")
	}
	cann := s.version["cann"]
	if !s.has("cann") || !s.hasAny("ops_package", "nnal", "arch") {
		return
	}
	if !cann.Known() {
		s.add("R13", unread(s, "cann"), s.present("cann", "ops_package", "nnal", "arch")...)
		return
	}
	if r := s.m.release(cann); r != nil && s.has("arch") && !slices.Contains(r.Strs("arch"), s.version["arch"].Text) && len(r.Strs("arch")) > 0 {
		j := judged{answer: Unsupported, file: "cann", row: r.Row, text: report.T("CANN %s has no package for %s", "CANN %s 没有面向 %s 的包", cann.Text, s.given["arch"])}
		if guess(r.Row) {
			j.answer = Unknown
		}
		s.add("R13", j, "cann", "arch")
	}
	if s.has("nnal") {
		j := judged{answer: Supported, text: report.T("nnal and CANN are both %s", "nnal 与 CANN 均为 %s", cann.Text)}
		if !s.version["nnal"].Equal(cann) {
			j = judged{answer: Unknown, near: []Near{{Part: "nnal", Value: cann.Text}},
				text: report.T("nnal %s with CANN %s: only the same version is promised", "nnal %s 与 CANN %s：仅保证版本相同", s.version["nnal"].Text, cann.Text)}
		}
		s.add("R13", j, "nnal", "cann")
	}
	if s.has("ops_package") {
		s.add("R13", s.ops(cann), "ops_package", "cann")
	}
}

func (s *stack) kernels() judged {
	if !s.chipOK {
		return s.noChip()
	}
	f := s.m.familyRow(s.chip.Generation)
	if f == nil {
		return judged{answer: Unknown, text: report.T("nothing is said about %s", "没有关于 %s 的说明", s.chip.Generation)}
	}
	have := s.given["kernels_package"]
	j := judged{answer: evidence(f), file: "chips", row: f, text: report.T("the operator package of %s is %s", "%s 的算子包为 %s", s.chip.Generation, cmp.Or(s.chip.Package, "-"))}
	if !strings.EqualFold(have, s.chip.Package) && !guess(f) {
		j.answer = Unsupported
		if s.chip.Package != "" {
			j.near = []Near{{Part: "kernels_package", Value: s.chip.Package}}
		}
	}
	return j
}

// opsFrom is the first CANN whose operators are a package of their own.
func opsFrom() Version { v, _ := Parse(CANN, "8.5.0"); return v }

func (s *stack) ops(cann Version) judged {
	have := s.version["ops_package"]
	if s.given["ops_package"] == None {
		if cann.before(opsFrom()) {
			return judged{answer: Unknown, text: report.T("CANN %s may run without an operator package", "CANN %s 没有算子包也可能运行", cann.Text)}
		}
		return judged{answer: Unsupported, text: report.T("from CANN 8.5.0 on the operator package is needed beside the toolkit", "自 CANN 8.5.0 起，toolkit 之外还需要算子包"), near: []Near{{Part: "ops_package", Value: cann.Text}}}
	}
	if have.Equal(cann) {
		return judged{answer: Supported, text: report.T("operator package and CANN are both %s", "算子包与 CANN 均为 %s", cann.Text)}
	}
	for _, r := range s.m.plain("cann.ops_toolkit") {
		if have.Known() && parseAny(CANN, r.Strs("ops")).has(have) && parseAny(CANN, r.Strs("toolkit")).has(cann) && evidence(r) == Supported {
			return judged{answer: Supported, file: "cann", row: r, text: report.T("operator package %s is listed with CANN %s", "算子包 %s 与 CANN %s 列在一起", have.Text, cann.Text)}
		}
	}
	return judged{answer: Unknown, text: report.T("operator package %s is not listed with CANN %s", "算子包 %s 未与 CANN %s 列在一起", have.Text, cann.Text), near: []Near{{Part: "ops_package", Value: cann.Text}}}
}
