package matrix

import (
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// offered are the stacks that rows have for the wanted engine. A guess and a
// disputed set are no offer.
func (s *suggester) offered() (out []offer) {
	switch s.engine {
	case "vllm_ascend":
		return s.vllmOffers()
	case "mindie":
		for _, r := range s.m.mindies() {
			for _, one := range r.sets {
				p := Parts{"mindie": r.Str("mindie"), "cann": r.Str("cann")}
				for _, k := range []string{"torch", "pta", "abi"} {
					if one[k] != "" {
						p[k] = one[k]
					}
				}
				if !guess(r.Row) && p["cann"] != "" {
					out = append(out, offer{p, "mindie/" + r.ID, true})
				}
			}
		}
	case "mindspore":
		for _, r := range s.m.plain("mindspore.rows") {
			v, _ := Parse(PEP440, r.Str("mindspore"))
			if r.Str("cann") != "" && !guess(r) {
				out = append(out, offer{Parts{"mindspore": r.Str("mindspore"), "cann": r.Str("cann")}, "mindspore/" + r.ID, v.Finished()})
			}
		}
	case "sglang":
		for _, r := range s.m.plain("sglang.images") {
			for _, text := range r.Strs("sglang") {
				v, _ := Parse(PEP440, text)
				if r.Str("cann") != "" && !guess(r) {
					out = append(out, offer{Parts{"sglang": text, "cann": r.Str("cann")}, "sglang/" + r.ID, v.Finished()})
				}
			}
		}
	case "torch_npu":
		return s.torchOffers()
	}
	return out
}

func (s *suggester) vllmOffers() (out []offer) {
	for _, e := range s.m.engines() {
		if !e.v.Known() || guess(e.Row) {
			continue
		}
		for _, set := range e.accepted(s.chip, s.chipOK) {
			if set.disputed {
				continue
			}
			p := Parts{"vllm_ascend": e.Str("vllm_ascend"), "torch": e.Str("torch"), "vllm": e.Strs("vllm")[0]}
			for name, text := range set.text {
				p[name] = text
			}
			if s.chip.engines.Str("triton_ascend") == "no" {
				delete(p, "triton_ascend")
			}
			out = append(out, offer{p, "vllm_ascend/" + e.ID, e.v.Finished()})
		}
	}
	return out
}

// torchOffers name the CANN of each package; of a line its newest release.
func (s *suggester) torchOffers() (out []offer) {
	finals := s.m.finals()
	slices.SortFunc(finals, newest)
	for _, section := range packSections[:2] {
		for _, p := range s.m.packsOf(section) {
			if guess(p.Row) || disputed(p.Row) || p.Str("cann_status") == "guess" {
				continue
			}
			if i := slices.IndexFunc(finals, p.cann().has); i >= 0 {
				out = append(out, offer{Parts{"torch_npu": p.Str("torch_npu"), "torch": p.Str("torch"), "cann": finals[i].Text}, "torch_npu/" + p.ID, p.v.Finished()})
			}
		}
	}
	return out
}

// names finds the image tags and file names of a suggestion, where rows have
// them for the chip and the architecture.
func (s *suggester) names(c *Suggestion) {
	if s.engine == "vllm_ascend" {
		c.Images = s.images(c)
	}
	r := s.m.release(s.m.cann(c.Parts["cann"]))
	if r == nil || !s.chipOK || s.a.Have["arch"] == "" {
		return
	}
	files := r.Get("files")
	for _, kind := range []string{"toolkit", "ops", "kernels", "nnal"} {
		name := files.Str(kind)
		if kind != "toolkit" && kind != "nnal" {
			if a3 := files.Str(kind + "_a3"); a3 != "" && s.chip.Generation == "A3" {
				name = a3
			}
			if name = s.withChip(name, files.Strs(kind+"_chips")); name == "" {
				continue
			}
		}
		if name = withArch(name, archOf(s.a.Have["arch"])); name != "" {
			c.Files = append(c.Files, name)
		}
	}
	if len(c.Files) > 0 && r.Str("files_status") == "guess" {
		c.Notes = append(c.Notes, report.T("the file names follow those of the neighbouring releases, no source was read", "文件名按相邻版本推断，未读到来源"))
	}
}

// withChip puts the chip into a file name; empty when no package is listed for
// it.
func (s *suggester) withChip(name string, chips []string) string {
	i := slices.IndexFunc(chips, func(c string) bool { return strings.EqualFold(c, s.chip.Package) })
	if len(chips) > 0 && i < 0 {
		return ""
	}
	if i >= 0 {
		return strings.Replace(name, "<chip>", chips[i], 1)
	}
	for _, ends := range []string{"{}", "<>"} {
		from, to := strings.IndexByte(name, ends[0]), strings.IndexByte(name, ends[1])
		if from < 0 || to < from || strings.Contains(name[from:to], "aarch64") {
			continue
		}
		if !slices.Contains(strings.FieldsFunc(name[from+1:to], func(r rune) bool { return r == ',' || r == '|' }), s.chip.Package) {
			return ""
		}
		return name[:from] + s.chip.Package + name[to+1:]
	}
	return name
}

// withArch makes a listed file name exact; empty when the row does not say it
// exactly.
func withArch(name, arch string) string {
	name, note, noted := strings.Cut(name, " (")
	if noted && !strings.HasPrefix(note, "no arch") {
		return ""
	}
	name = strings.Replace(name, "{aarch64,x86_64}", arch, 1)
	if strings.ContainsAny(name, "{}<>|") {
		return ""
	}
	return name
}

// images are the tags of the engine for the chip and the system.
func (s *suggester) images(c *Suggestion) (out []string) {
	if !s.chipOK {
		return nil
	}
	name := s.chip.Generation
	if s.chip.Variant != "" {
		name = s.chip.Variant
	}
	for _, r := range s.m.plain("vllm_ascend.image_suffix") {
		tag, version := r.Prose("tag"), c.Parts["vllm_ascend"]
		if r.Str("chip") != name || !strings.Contains(tag.En, "<version>") {
			continue
		}
		full := report.Text{En: r.Str("registry") + ":" + strings.ReplaceAll(tag.En, "<version>", version), Zh: r.Str("registry") + ":" + strings.ReplaceAll(tag.Zh, "<version>", version)}
		if strings.ContainsAny(tag.En, " (,") { // more than one spelling is known: a note, not a name
			c.Notes = append(c.Notes, report.T("image: %s", "镜像：%s", full))
			continue
		}
		out = append(out, full.En)
		if os, _ := osName(s.a.Have["os"]); strings.HasPrefix(os, "openeuler") {
			out = append([]string{full.En + "-openeuler"}, out...)
		}
	}
	return out
}
