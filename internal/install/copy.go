package install

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Copying is a file on its way to hosts.
type Copying struct {
	*Got
	Path string      // on the host
	Mode fs.FileMode // 0: 0644
}

// Copied is what a host has now.
type Copied struct {
	Files int   // all of them
	Bytes int64 // of all of them
	Kept  int64 // of these, bytes that were there before
}

// CopyOptions says how.
type CopyOptions struct {
	Parallel int                                       // hosts at a time; 0: 8
	Progress func(host, file string, done, size int64) // bytes of one file; may be nil
}

// Copy brings files to hosts, all hosts at once, to where the plan's uploads
// want them: those then find them done. What a broken copy left is kept as far
// as it is right, and the host itself computes the sha256. Only private scratch
// is written. Outcomes are in the order of hosts; errors are *report.Problem
// or wrap host.ErrUnreachable.
func Copy(ctx context.Context, hosts []host.Host, files []Copying, o CopyOptions) []host.Outcome[Copied] {
	if o.Progress == nil {
		o.Progress = func(string, string, int64, int64) {}
	}
	if o.Parallel == 0 {
		o.Parallel = 8
	}
	return host.Each(ctx, hosts, o.Parallel, 0, func(ctx context.Context, h host.Host) (c Copied, err error) {
		if err := copyRoom(ctx, h, files); err != nil {
			return c, err
		}
		for _, file := range files {
			kept, err := copyOne(ctx, h, file, o)
			if err != nil {
				return c, err
			}
			c.Files, c.Bytes, c.Kept = c.Files+1, c.Bytes+file.Size, c.Kept+kept
		}
		return c, nil
	})
}

func copyOne(ctx context.Context, h host.Host, file Copying, o CopyOptions) (kept int64, err error) {
	perm := file.Mode
	if perm == 0 {
		perm = 0o644
	}
	dir := path.Dir(file.Path)
	r, err := h.Run(ctx, host.Command{Argv: []string{"mkdir", "-p", "--", dir}})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	first := int64(-1)
	if err == nil {
		err = host.Upload(ctx, h, file, file.Size, file.Path, perm, func(n int64) {
			if first < 0 {
				first = n
			}
			o.Progress(h.String(), file.Name, n, file.Size)
		})
	}
	if err != nil {
		return 0, copyFailed(h, file, err)
	}
	return max(first, 0), nil
}

// copyFailed leaves problems of the connection as they are.
func copyFailed(h host.Host, file Copying, err error) error {
	var p *report.Problem
	if errors.As(err, &p) || errors.Is(err, host.ErrUnreachable) || errors.Is(err, context.Canceled) {
		return err
	}
	return &report.Problem{
		What: report.T("cannot copy %s to %s", "无法将 %s 复制到 %s", file.Name, h.String()), Why: report.Same(err.Error()),
		Do: report.T("cure it and run the command again: what is there and right is kept", "排除故障后重新运行该命令，已复制且正确的部分会保留"), Exit: report.ExitFailed, Err: err,
	}
}

// copyRoom looks whether the files fit, disk by disk, less what is there.
func copyRoom(ctx context.Context, h host.Host, files []Copying) error {
	var qs []host.Question
	for _, f := range files {
		qs = append(qs, host.Question{Kind: host.Disk, Args: []string{path.Dir(f.Path)}},
			host.Question{Kind: host.Stat, Args: []string{f.Path, copyPart(f)}})
	}
	answers := h.Ask(ctx, qs)
	need, free := map[string]int64{}, map[string]int64{}
	var disks []string
	for i, file := range files {
		disk, there := string(answers[2*i].Stdout), string(answers[2*i+1].Stdout)
		mount := valueOf(disk, "mount")
		kb, err := strconv.ParseInt(valueOf(disk, "avail_kb"), 10, 64)
		if err != nil || mount == "" {
			continue // not known: the copy itself will tell
		}
		if _, seen := free[mount]; !seen {
			disks = append(disks, mount)
		}
		free[mount] = kb << 10
		need[mount] += file.Size - statSize(there, file.Size)
	}
	for _, d := range disks {
		if need[d] > free[d] {
			return &report.Problem{
				What: report.T("not enough space for the packages on %s", "%s 空间不足，无法存放软件包", h.String()),
				Why:  report.T("%s: %s needed, %s free", "%s：需要 %s，可用 %s", d, sizeText(need[d]), sizeText(free[d])),
				Do:   report.T("free space there, or choose another folder", "清理磁盘，或换一个目录"),
				Run:  report.Line("ascendctl", "install-cann", "--host", h.String(), "--set", "tmpdir=/data/tmp"), Exit: report.ExitNo, Err: errNoRoom,
			}
		}
	}
	return nil
}

// copyPart is the name that host.Upload gives to what is not whole yet.
func copyPart(f Copying) string { return f.Path + "." + f.SHA256[:16] + ".part" }

// statSize is the size of the largest file in an answer of kind Stat, at most limit.
func statSize(text string, limit int64) (most int64) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 9 {
			if n, err := strconv.ParseInt(f[7], 10, 64); err == nil {
				most = max(most, n)
			}
		}
	}
	return min(most, limit)
}

func valueOf(text, key string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			return v
		}
	}
	return ""
}
