package install

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Printed is one thing to download elsewhere: a file, or a set of wheels.
type Printed struct {
	Item    string `json:"item"`
	Name    string `json:"name"`
	URL     string `json:"url,omitempty"`
	Page    string `json:"page,omitempty"`   // where a person signs in, in the place of URL
	Size    int64  `json:"size,omitempty"`   // bytes; 0: not known
	SHA256  string `json:"sha256,omitempty"` // "": not known
	Referer string `json:"referer,omitempty"`
	Here    bool   `json:"here"`              // in the cache or in --from
	Command string `json:"command,omitempty"` // a line that downloads it, to be pasted
	Check   string `json:"check,omitempty"`   // a line that verifies it
}

// Print tells what to download elsewhere. It asks no server. Secrets of --from
// and of indexes are masked; a line with a masked secret cannot be pasted as it
// is, which is meant.
func (f *Fetcher) Print(ctx context.Context, items []Item, wheels []Wheels) ([]Printed, error) {
	if err := f.begin(ctx); err != nil {
		return nil, f.problem(ctx, err)
	}
	var out []Printed
	for _, it := range items {
		if err := it.check(); err != nil {
			return nil, err
		}
		f.secret(it.URL)
		out = append(out, f.printed(it))
	}
	for _, w := range wheels {
		if err := w.check(); err != nil {
			return nil, err
		}
		out = append(out, f.printedWheels(w))
	}
	return out, nil
}

func (f *Fetcher) printed(it Item) Printed {
	p := Printed{Item: it.ID, Name: it.Name, URL: f.shown(f.address(it)), Size: it.Size, SHA256: it.SHA256, Here: f.here(it)}
	if p.URL == "" {
		p.Page = f.shown(it.Page)
		return p
	}
	argv := []string{"curl", "-fL", "-C", "-", "-o", it.Name}
	if it.Referer != "" && !isWeb(f.From) {
		p.Referer = it.Referer
		argv = append(argv, "-e", it.Referer)
	}
	p.Command = report.Line(append(argv, p.URL)...)
	if it.SHA256 != "" {
		p.Check = "echo " + report.Line(it.SHA256+"  "+it.Name) + " | sha256sum -c"
	}
	return p
}

// here looks whether the file need not be downloaded; its digest is looked at
// when it is used.
func (f *Fetcher) here(it Item) bool {
	if f.shelf != nil {
		g, it, err := f.shelved(it)
		return err == nil && (g != nil || f.holds(it))
	}
	g, err := f.file(filepath.Join(f.folder(it), it.Name), "")
	return err == nil && (it.Size == 0 || g.Size == it.Size)
}

// printedWheels is a line of plain pip. The markers of requirements are those
// of the machine it runs on, so that should be one like the target.
func (f *Fetcher) printedWheels(w Wheels) Printed {
	argv := append([]string{"python3", "-m", "pip"}, w.pipArgs()...)
	if f.Index != "" {
		argv = append(argv, "--index-url", f.shown(f.Index))
	}
	for _, x := range w.Extra {
		f.secret(x)
		argv = append(argv, "--extra-index-url", f.shown(x))
	}
	argv = append(argv, "--dest", "wheels")
	return Printed{Item: "python", Name: strings.Join(w.Requirements, " "), URL: f.shown(f.Index), Command: report.Line(append(argv, w.Requirements...)...)}
}
