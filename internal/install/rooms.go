package install

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// rooms hold the space that is needed against what is free, per file system:
// two needs of one file system add up.
func (j *job) rooms() {
	type need struct {
		good, least int64
		paths       []string
		disk        facts.Fact[facts.Disk]
	}
	needs := map[string]*need{}
	var order []string
	for _, r := range j.d.rooms {
		at := j.roomAt(r)
		if at == "" {
			continue
		}
		d := diskOf(j.f, at)
		key := cmp.Or(d.Value.Mount, at)
		n := needs[key]
		if n == nil {
			n = &need{disk: d}
			needs[key], order = n, append(order, key)
		}
		n.good, n.least, n.paths = n.good+r.GoodGiB<<20, n.least+r.LeastGiB<<20, append(n.paths, at)
	}
	for _, key := range order {
		n := needs[key]
		room := Room{Path: n.paths[0], NeedKB: n.good, AvailKB: -1}
		f := finding("install.disk", report.T("%s has room for what is installed", "%s 有足够的安装空间", strings.Join(unique(n.paths), ", ")), true, "df "+n.paths[0], cmp.Or(said(n.disk.Note), stateWord(host.Unknown)))
		f.Evidence[0].Wanted = said(gib(n.good))
		switch {
		case !n.disk.Known():
			f.Status = report.Unknown
		case n.disk.Value.ReadOnly:
			f.ID, f.Status, f.Evidence[0].Seen = "install.readonly", report.Fail, report.T("read-only", "只读")
		case slices.Contains(n.paths, j.stage) && n.disk.Value.NoExec:
			f.ID, f.Status, f.Evidence[0].Seen = "install.tmp", report.Fail, said("noexec")
		default:
			room.AvailKB = n.disk.Value.AvailKB
			f.Evidence[0].Seen = report.T("%s free", "可用 %s", gib(room.AvailKB))
			if room.AvailKB < n.good {
				f.Status = report.Warn
			}
			if room.AvailKB < n.least && !j.Unfinished { // much of it may be there already
				f.Status = report.Fail
			}
		}
		f.Fix = report.T("free space there, or choose another place: --set tmpdir=DIR, --install-path DIR, --set venv=DIR", "在该处释放空间，或另选位置：--set tmpdir=DIR, --install-path DIR, --set venv=DIR")
		j.set.Rooms = append(j.set.Rooms, room)
		j.set.Findings = append(j.set.Findings, f)
	}
}

// roomAt is the path a row speaks of; "" when nothing goes there.
func (j *job) roomAt(r roomRow) string {
	cann := len(j.set.Packages) > 0 && !j.managed("cann")
	switch {
	case r.ID == "driver" && j.hdk == nil, r.ID == "venv" && len(j.With) == 0, r.ID != "driver" && r.ID != "venv" && !cann:
		return ""
	}
	root := j.root
	if r.ID == "driver" {
		root = vendorRoot
	}
	return strings.NewReplacer("{install}", root, "{tmp}", j.stage, "{stage}", j.stage, "{venv}", j.venv).Replace(r.At)
}

func gib(kb int64) string { return fmt.Sprintf("%.1f GiB", float64(kb)/(1<<20)) }

// diskOf is the file system of a path, or of the nearest folder above that was
// asked about.
func diskOf(f *facts.Facts, p string) facts.Fact[facts.Disk] {
	for at := p; ; at = path.Dir(at) {
		if d, ok := f.Disks[at]; ok && d.State != "" {
			return d
		}
		if at == "/" || at == "." {
			return facts.Fact[facts.Disk]{State: host.Unknown, Note: "not asked"}
		}
	}
}

// Disks are the paths whose file systems a look must ask about for this want.
func (w Want) Disks(home string) (out []string) {
	out = []string{"/var/lib", "/opt", cmp.Or(w.Path, vendorRoot), cmp.Or(w.Tmpdir, "/tmp")}
	if w.Venv != "" {
		out = append(out, w.Venv)
	}
	if w.User && home != "" {
		out = append(out, home)
	}
	return out
}
