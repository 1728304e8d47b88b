package screen

import (
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// SelfTest compares the ACL library of a host with what is expected of it. It
// holds no path below a home folder and no identifier of a device.
type SelfTest struct {
	report.Envelope
	Libraries []string   `json:"libraries"` // really loaded, without their folders
	Layout    string     `json:"layout"`    // whole or split
	Version   string     `json:"acl_version,omitempty"`
	Lacks     []string   `json:"lacks,omitempty"` // optional functions that are not there
	Simulated bool       `json:"simulated"`       // the double of the tests, not an NPU
	SoC       string     `json:"soc,omitempty"`
	Direct    bool       `json:"direct"` // the host is the device
	Items     []SelfItem `json:"items"`
	Stopped   string     `json:"stopped,omitempty"` // by what, where not all could be asked
}

// SelfItem is one assumption.
type SelfItem struct {
	ID     string      `json:"id"`
	Title  report.Text `json:"title"`
	Expect []string    `json:"expect"`
	Got    string      `json:"got"`
	Holds  bool        `json:"holds"`
	Source string      `json:"source"`
}

// Differs counts the assumptions that do not hold.
func (d SelfTest) Differs() (n int) {
	for _, i := range d.Items {
		if !i.Holds {
			n++
		}
	}
	return n
}

// Show writes the document for people.
func (d SelfTest) Show(o *ui.Out) {
	o.Print("%s  %s\n", o.Bold(strings.Join(d.Libraries, ", ")), strings.TrimSpace("ACL "+d.Version+" "+d.SoC))
	if d.Simulated {
		o.Say(report.T("  SIMULATED: this is the double of the tests, not an NPU", "  模拟：此为测试替身，非 NPU"))
	}
	if len(d.Lacks) > 0 {
		o.Say(report.T("  lacks     %s", "  缺少函数  %s", strings.Join(d.Lacks, ", ")))
	}
	for _, i := range slices.SortedStableFunc(slices.Values(d.Items), holdsLast) {
		mark := report.Pass
		if !i.Holds {
			mark = report.Fail
		}
		o.Print("%s %s  %s\n", o.Mark(mark), i.Title.In(o.Lang()), o.Faint(i.ID))
		if !i.Holds {
			o.Say(report.T("    expected %s, got %s", "    预期 %s，实际 %s", strings.Join(i.Expect, ", "), i.Got))
			o.Print("    %s\n", o.Faint(i.Source))
		}
	}
	o.Print("\n")
	o.Say(report.T("%d of %d assumptions hold", "%[2]d 项预期中 %[1]d 项成立", len(d.Items)-d.Differs(), len(d.Items)))
}

func holdsLast(a, b SelfItem) int {
	switch {
	case a.Holds == b.Holds:
		return 0
	case b.Holds:
		return -1
	}
	return 1
}
