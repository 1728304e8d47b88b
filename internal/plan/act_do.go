package plan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// dash stands for "as it is" in the shell part.
func dash(s string) string { return cmp.Or(s, "-") }

func (a File) valid(_ Step, mask *report.Redactor) string {
	if a.Secret {
		mask.Add(strings.TrimSpace(string(a.Data)))
	}
	return owned(a.Owner)
}
func (a File) touches() []Touch { return []Touch{{Path: a.Path}} }
func (a File) done(ctx context.Context, s *site, h host.Host) (bool, error) {
	is, err := s.look(ctx, h, "look", a.Path)
	return is.kind == "f" && is.sum == sum(a.Data) && is.wears(a.Mode, a.Owner), err
}
func (a File) do(ctx context.Context, _ *run, h host.Host) error {
	_, err := call(ctx, h, bytes.NewReader(a.Data), "place", a.Path, dash(octal(a.Mode)), dash(a.Owner), strconv.Itoa(len(a.Data)))
	return err
}

func (a Link) valid(Step, *report.Redactor) string {
	if a.Target == "" || strings.ContainsAny(a.Target, "\n\x00") {
		return "a link needs a target of one line"
	}
	return ""
}
func (a Link) touches() []Touch { return []Touch{{Path: a.Path}} }
func (a Link) done(ctx context.Context, s *site, h host.Host) (bool, error) {
	is, err := s.look(ctx, h, "look", a.Path)
	return is.kind == "l" && is.sum == sum([]byte(a.Target)), err
}
func (a Link) do(ctx context.Context, _ *run, h host.Host) error {
	_, err := call(ctx, h, nil, "link", a.Path, a.Target)
	return err
}

func (a Dir) valid(Step, *report.Redactor) string { return owned(a.Owner) }
func (a Dir) touches() []Touch                    { return []Touch{{Path: a.Path, how: "dir"}} }
func (a Dir) done(ctx context.Context, s *site, h host.Host) (bool, error) {
	is, err := s.look(ctx, h, "look", a.Path)
	return is.kind == "d" && is.wears(a.Mode, a.Owner), err
}
func (a Dir) do(ctx context.Context, _ *run, h host.Host) error {
	_, err := call(ctx, h, nil, "folder", a.Path, dash(octal(a.Mode)), dash(a.Owner))
	return err
}

func (a Gone) valid(Step, *report.Redactor) string { return "" }
func (a Gone) touches() []Touch                    { return []Touch{{Path: a.Path, how: "gone"}} }
func (a Gone) done(ctx context.Context, s *site, h host.Host) (bool, error) {
	is, err := s.look(ctx, h, "look", a.Path)
	return is.kind == "", err
}
func (a Gone) do(ctx context.Context, x *run, h host.Host) error {
	_, err := call(ctx, x.site.journal, nil, "take", x.folder(), x.slot(0), a.Path)
	return err
}

func (a Copy) valid(Step, *report.Redactor) string {
	if !path.IsAbs(a.From) {
		return "a copy needs an absolute path to copy from"
	}
	return ""
}
func (a Copy) touches() []Touch { return []Touch{{Path: a.Path}} }
func (a Copy) done(ctx context.Context, s *site, h host.Host) (bool, error) {
	from, err := s.look(ctx, h, "whole", a.From)
	if err != nil {
		return false, err
	}
	is, err := s.look(ctx, h, "whole", a.Path)
	return is.kind != "" && is == from, err
}
func (a Copy) do(ctx context.Context, _ *run, h host.Host) error {
	_, err := call(ctx, h, nil, "twin", a.From, a.Path)
	return err
}

func (a Upload) valid(Step, *report.Redactor) string {
	if a.Src == nil || len(a.SHA256) != 64 || strings.Trim(a.SHA256, "0123456789abcdef") != "" {
		return "an upload needs its content and its sha256 in lower case"
	}
	return owned(a.Owner)
}

// touches names also what a broken upload leaves beside the file.
func (a Upload) touches() []Touch {
	part := a.Path + ".part"
	if len(a.SHA256) >= 16 {
		part = a.Path + "." + a.SHA256[:16] + ".part"
	}
	return []Touch{{Path: a.Path}, {Path: part}}
}
func (a Upload) done(ctx context.Context, s *site, h host.Host) (bool, error) {
	is, err := s.look(ctx, h, "look", a.Path)
	return is.kind == "f" && is.sum == a.SHA256 && is.wears(a.perm(), a.Owner), err
}
func (a Upload) do(ctx context.Context, x *run, h host.Host) error {
	if err := host.Upload(ctx, h, a.Src, a.Size, a.Path, a.perm(), x.progress(a)); err != nil {
		return err
	}
	_, err := call(ctx, h, nil, "owner", a.Path, "-", dash(a.Owner))
	return err
}

func (a Line) valid(Step, *report.Redactor) string {
	if a.Text == "" || strings.ContainsAny(a.Text, "\n\x00") {
		return "a line is one line of text"
	}
	return ""
}
func (a Line) touches() []Touch { return []Touch{{Path: a.Path, line: a.Text}} }
func (a Line) done(ctx context.Context, _ *site, h host.Host) (bool, error) {
	_, err := call(ctx, h, nil, "hasline", a.Path, a.Text)
	var r *refusal
	if errors.As(err, &r) && (r.exit == 1 || r.exit == 3) && r.said == "" {
		return false, nil
	}
	return err == nil, err
}
func (a Line) do(ctx context.Context, _ *run, h host.Host) error {
	_, err := call(ctx, h, nil, "line", a.Path, cmp.Or(octal(a.Mode), "0644"), a.Text)
	return err
}

func (a Reboot) argv() []string {
	if len(a.Argv) == 0 {
		return []string{"systemctl", "reboot"}
	}
	return a.Argv
}

func (a Reboot) valid(s Step, _ *report.Redactor) string {
	if s.Risk != RiskReboot || len(s.Do) != 1 {
		return "a reboot is a step of its own with the risk " + RiskReboot
	}
	return ""
}
func (a Reboot) touches() []Touch { return nil }

// done: the journal says under which boot it began, and that boot is over.
func (a Reboot) done(_ context.Context, s *site, _ host.Host) (bool, error) {
	did := s.open.of(s.now, a.key())
	return did != nil && did.Boot != s.boot, nil
}

// errReboot ends a run that goes on after the restart.
var errReboot = errors.New("the host restarts")

func (a Reboot) do(ctx context.Context, x *run, h host.Host) error {
	if !x.made.agreedTo(RiskReboot) {
		return errReboot
	}
	r, err := h.Run(ctx, host.Command{Argv: a.argv()})
	switch {
	case errors.Is(err, host.ErrUnreachable): // it took us with it
	case err != nil:
		return err
	case r.Exit != 0:
		return fmt.Errorf("exit %d: %s", r.Exit, said(r))
	}
	return errReboot
}

func owned(owner string) string {
	user, group, both := strings.Cut(owner, ":")
	if owner != "" && (user == "" || both && group == "" || strings.ContainsAny(owner, " \t\n\x00")) {
		return "an owner is user or user:group, got " + owner
	}
	return ""
}
