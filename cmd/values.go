package cmd

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

const goArch = runtime.GOARCH

// durationValue is a flag of a Go duration that is not negative.
type durationValue time.Duration

func (d *durationValue) String() string { return time.Duration(*d).String() }
func (d *durationValue) Type() string   { return "TIME" }

func (d *durationValue) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return wants(report.T("want a time such as 500ms, 30s, 5m", "应为时间，例如 500ms、30s、5m"))
	}
	*d = durationValue(v)
	return nil
}

// wants is what a value of a flag should have been.
func wants(t report.Text) error { return &report.Problem{What: t, Exit: report.ExitUsage} }

// sizeValue is a flag of bytes: 1048576, 512KiB, 64MiB, 2GiB.
type sizeValue int64

func (v *sizeValue) String() string { return strings.ReplaceAll(ui.Bytes(int64(*v)), ".0 ", " ") }
func (v *sizeValue) Type() string   { return "SIZE" }

func (v *sizeValue) Set(s string) error {
	number, shift := strings.TrimSpace(s), 0
	for i, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(number, unit); ok && (i > 0 || !strings.HasSuffix(n, "i")) {
			number, shift = strings.TrimSpace(n), 10*i
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > 1<<62>>shift {
		return wants(report.T("want a size such as 1048576, 512KiB, 64MiB", "应为大小，例如 1048576、512KiB、64MiB"))
	}
	*v = sizeValue(n << shift)
	return nil
}
