// Package install makes the plan that brings a host from what facts know of it
// to a driver, a CANN and a Python set that belong together. It is pure: it
// looks at no host and downloads nothing; what it needs of files is handed in.
package install

import (
	"io"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Want is what a person asks for; the zero value is the newest CANN that fits
// the driver of the host.
type Want struct {
	For    string   // what is to run: "vllm-ascend@0.23.0", "mindie", "om"
	CANN   string   // a CANN release
	Driver string   // an HDK release; "": kept where it fits
	With   []string // Python sets: torch_npu, vllm-ascend, mindspore
	// DockerRuntime is the version of Ascend Docker Runtime, "latest", or "" for none.
	DockerRuntime string

	Path    string     // install path; "": /usr/local/Ascend, ~/Ascend for a user install
	Tmpdir  string     // where installers unpack and packages lie meanwhile
	User    bool       // for the login alone, without root: no driver, no OS packages
	UID     string     // number of HwHiAiUser and its group; "": the host picks
	SkipOS  bool       // OS packages are somebody else's business
	Managed []string   // driver, firmware, cann: looked after by a provider, never replaced
	Elevate host.State // whether root rights can be had: Known yes, Absent no, "" judged by the facts

	Python string // interpreter of the venv; "": python3
	Venv   string // its folder; "": /opt/ascend/venv-NAME, ~/ascend-venv-NAME
	Pip    Pip

	// Unfinished: a journal of this plan is open on the host. Then what looks
	// installed may be half there, so every step stays in the plan and looks for
	// itself.
	Unfinished bool
	Again      string // the command line, for people
	// Files gives the installer of a part. Where it has none, the step can be
	// shown and not run.
	Files func(Package, Part) (File, bool)
	// WheelFiles are Python packages at hand: they are sent to the host, and its
	// pip asks no index.
	WheelFiles []File
}

// Pip is where Python packages come from, as on the machine that downloads.
type Pip struct {
	IndexURL string
	Extra    []string // further indexes
	Wheels   string   // folder of wheels on the host: then no index is asked
	Proxy    string   // HTTPS_PROXY of the host's pip
	NoProxy  string
}

// File is an installer at hand: the .run, unpacked from its zip if need be.
type File struct {
	Name   string // base name, which tells the version of a firmware
	Src    io.ReaderAt
	Size   int64
	SHA256 string // of these bytes
	From   string // for people: a URL or a file
	// Verified: a list of the vendor has the digest of it, or of the zip around it.
	Verified bool
}

// Set is a plan and how it came about.
type Set struct {
	Plan     plan.Plan
	Parts    matrix.Parts   // the stack the host has afterwards
	Verdict  matrix.Verdict // on it
	Row      string         // that was followed: "vllm_ascend/0.23.0"
	Keep     []Kept         // what is right as it is
	Packages []Package      // that the steps need
	Missing  []string       // parts of them Files had not: the plan can be shown, its run refuses
	Pins     []string       // of the Python set: "torch==2.10.0"
	Indexes  []string       // that pip asks, without credentials
	Notes    []report.Text
	Findings []report.Finding // of the preconditions, passed ones too
	Rooms    []Room
}

// Kept is a part that stays.
type Kept struct {
	Part, Version string
	Why           report.Text
}

// Room is space that is needed at a path; AvailKB is -1 where it is not known.
type Room struct {
	Path            string
	NeedKB, AvailKB int64
}

// Refused is a *report.Problem (exit 3) when a precondition refuses: then
// nothing of the plan may be run.
func (s *Set) Refused() error {
	for _, f := range s.Findings {
		if !f.Refuses() {
			continue
		}
		p := &report.Problem{
			What: report.T("the plan is refused, nothing was changed: %s does not hold", "变更计划被拒绝，未做任何变更：%s 不成立", f.ID),
			Why:  f.Text, Do: f.Fix, Run: f.Run, Exit: report.ExitNo,
		}
		if len(f.Evidence) > 0 {
			e := f.Evidence[0]
			p.Why = report.T("wanted: %s; %s says %s", "要求：%s；%s 显示 %s", f.Text, e.Source, e.Seen)
		}
		return p
	}
	return nil
}
