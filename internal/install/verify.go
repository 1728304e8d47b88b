package install

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
)

// What was installed is read back from the files that installers leave, never
// from what they say.

// says is a check: a KEY=VALUE or KEY : VALUE file has this value, in any case.
func says(file, key, want string) plan.Check {
	return keyed(file, key, func(value string, ok bool) bool { return ok && strings.EqualFold(value, want) })
}

// unless is a check: the file does not have another value; it may have none.
func unless(file, key, want string) plan.Check {
	return keyed(file, key, func(value string, ok bool) bool { return !ok || strings.EqualFold(value, want) })
}

func keyed(file, key string, fits func(value string, ok bool) bool) plan.Check {
	return func(ctx context.Context, h host.Host) (bool, error) {
		data, err := h.ReadFile(ctx, file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		for line := range strings.Lines(string(data)) {
			i := strings.IndexAny(line, "=:")
			if i > 0 && strings.TrimSpace(line[:i]) == key {
				return fits(strings.TrimSpace(line[i+1:]), true), nil
			}
		}
		return fits("", false), nil
	}
}

// either is a check: one of them holds.
func either(checks ...plan.Check) plan.Check {
	return func(ctx context.Context, h host.Host) (bool, error) {
		for _, c := range checks {
			if ok, err := c(ctx, h); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
}

// not is a check: the other does not hold.
func not(c plan.Check) plan.Check {
	return func(ctx context.Context, h host.Host) (bool, error) {
		ok, err := c(ctx, h)
		return !ok, err
	}
}

// ended is a check: no process has the installer among its arguments. An
// installer may write its version files long before it is through. The path
// comes in two words, so that the question does not find itself.
func ended(installer string) plan.Check {
	const ask = `for c in /proc/[0-9]*/cmdline; do
tr '\0' '\n' 2>/dev/null <"$c" | grep -qxF -- "$1/$2" && exit 1
done 2>/dev/null
exit 0`
	return plan.Exits("/bin/sh", "-c", ask, "sh", path.Dir(installer), path.Base(installer))
}
