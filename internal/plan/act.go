package plan

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"strconv"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Act is one change a step makes. The kinds of this package are all there are,
// and each has an exact undo.
type Act interface {
	key() string // tells it from the other acts of its step
	shown() ShownAct
	valid(s Step, mask *report.Redactor) string // why not; "" if it is
	touches() []Touch
	done(ctx context.Context, s *site, h host.Host) (bool, error)
	do(ctx context.Context, x *run, h host.Host) error
}

// Touch is a path an act changes, so that its old state is kept first.
type Touch struct {
	Path string `json:"path"`
	// Tree: a folder too large to keep. Its list of names, modes, owners, sizes
	// and times is kept instead; undo removes what came, mends modes, owners,
	// folders and links, and names what else has changed. Else the whole path is
	// kept, so it should be small.
	Tree bool `json:"tree,omitempty"`
	// Shared: others write it too. Undo puts it back only if nobody has since.
	Shared bool `json:"shared,omitempty"`

	how  string // "", dir, gone
	line string // undo of a shared file that others have changed: drop this line
}

// File is a file with this content, written beside its place and renamed.
type File struct {
	Path   string
	Data   []byte
	Mode   fs.FileMode // 0: as it is, 0644 for a new one
	Owner  string      // "user:group"; "": as it is
	Secret bool        // the content is shown nowhere, nor is its sum
}

func (a File) key() string { return "file " + a.Path }

// Link is a symbolic link; it replaces a file or a link, never a folder.
type Link struct{ Path, Target string }

func (a Link) key() string { return "link " + a.Path }

// Dir is a folder. Its parent must be there or be a Dir before it.
type Dir struct {
	Path  string
	Mode  fs.FileMode // 0: as it is, 0755 for a new one
	Owner string
}

func (a Dir) key() string { return "dir " + a.Path }

// Gone is a path that is no more; it moves into the journal, whole.
type Gone struct{ Path string }

func (a Gone) key() string { return "gone " + a.Path }

// Copy is a file or a tree of the host at a second place, with all attributes.
type Copy struct{ From, Path string }

func (a Copy) key() string { return "copy " + a.Path }

// Upload is a file of this machine on the host, resumable, sha256 on both sides.
type Upload struct {
	Path   string
	Src    io.ReaderAt
	Size   int64
	SHA256 string // hex; it is looked at before anything is changed
	From   string // where Src came from, for people: a URL or a file
	Mode   fs.FileMode
	Owner  string
}

func (a Upload) key() string { return "upload " + a.Path }

// perm: a file that is uploaded has a mode of its own.
func (a Upload) perm() fs.FileMode { return cmp.Or(a.Mode, 0o644) }

// Line is a line somewhere in a text file; at the end when it is not there.
type Line struct {
	Path string
	Text string
	Mode fs.FileMode // of a new file; 0: 0644
}

func (a Line) key() string { return "line " + a.Path + " " + a.Text }

// Reboot restarts the host. Without consent to its risk the run stops in front
// of it; the same command goes on afterwards.
type Reboot struct{ Argv []string } // nil: systemctl reboot

func (a Reboot) key() string { return "reboot" }

func octal(m fs.FileMode) string {
	if m == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(m.Perm())|uint64(special(m)), 8)
}

// special are the bits Go keeps elsewhere.
func special(m fs.FileMode) (bits uint32) {
	for i, b := range []fs.FileMode{fs.ModeSetuid, fs.ModeSetgid, fs.ModeSticky} {
		if m&b != 0 {
			bits |= 0o4000 >> i
		}
	}
	return bits
}
