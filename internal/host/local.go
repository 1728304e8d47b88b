package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Local is the machine ascendctl runs on.
type Local struct {
	sudo sync.Mutex
	root error // nil: sudo works or is not needed
	told bool  // root was decided
}

var _ Host = (*Local)(nil)

// NewLocal opens the machine ascendctl runs on. Nothing is started.
func NewLocal() *Local { return &Local{} }

func (l *Local) String() string { return "local" }

// Close ends nothing: every Run has ended with its own processes.
func (l *Local) Close() error { return nil }

// Ask puts the questions through one run of /bin/sh.
func (l *Local) Ask(ctx context.Context, qs []Question) []Answer { return ask(ctx, l, qs) }

// lingering is how long a pipe may stay open after its command has ended: a
// daemon it left behind may hold it for ever.
const lingering = 2 * time.Second

// Run runs c in a session of its own. When ctx ends, every process of that
// session is killed, not only the first.
func (l *Local) Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, context.Cause(ctx)
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return Result{}, errors.New("no command")
	}
	argv := c.Argv
	file, err := find(argv[0])
	if err != nil {
		return Result{}, err
	}
	if c.Root {
		if argv, err = l.elevated(ctx, file, c); err != nil {
			return Result{}, err
		}
		file = argv[0]
	}
	cmd := exec.CommandContext(ctx, file, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Env = append(append(os.Environ(), "LC_ALL=C"), c.Env...)
	cmd.WaitDelay = lingering
	ownSession(cmd)
	var out, said keep
	stdout, stderr := &latch{to: c.Stdout}, &latch{to: c.Stderr}
	if c.Stdout == nil {
		stdout.to = &out
	}
	if c.Stderr == nil {
		stderr.to = &said
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, stdout, stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	r := Result{Stdout: out.Bytes(), Stderr: said.Bytes()}
	var status *exec.ExitError
	switch {
	case cmp.Or(stdout.failed(), stderr.failed()) != nil:
		return Result{}, cmp.Or(stdout.failed(), stderr.failed())
	case errors.As(err, &status):
		r.Exit = exitCode(status)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return Result{}, fmt.Errorf("%s: %w", argv[0], err)
	}
	return r, nil
}

// latch remembers why a writer refused: the command it belongs to then ends by
// SIGPIPE, which would look like its own fault. It also hides the ReadFrom of a
// buffer, which knows no bound.
type latch struct {
	mu  sync.Mutex // after WaitDelay a copy may still be on its way
	to  io.Writer
	err error
}

func (l *latch) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.to.Write(p)
	l.err = err
	return n, err
}

func (l *latch) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// sbin is where commands for administrators are; a user's PATH often lacks it.
var sbin = []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}

// find gives the file of a command on PATH or in the sbin folders.
func find(name string) (string, error) {
	file, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) {
		return cmp.Or(file, name), nil
	}
	if !strings.ContainsRune(name, filepath.Separator) {
		for _, dir := range sbin {
			if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return file, nil
			}
		}
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", name, ErrNoCommand)
	}
	return "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
}

// elevated puts sudo before argv unless the login is root. Whether sudo works
// without a password is found out once.
func (l *Local) elevated(ctx context.Context, file string, c Command) ([]string, error) {
	if os.Geteuid() == 0 {
		return append([]string{file}, c.Argv[1:]...), nil
	}
	l.sudo.Lock()
	defer l.sudo.Unlock()
	if !l.told {
		r, err := l.Run(ctx, Command{Argv: []string{"sudo", "-n", "true"}})
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			l.root = fmt.Errorf("%w: %w", ErrNoRoot, err)
		case r.Exit != 0:
			l.root = fmt.Errorf("%w: %s", ErrNoRoot, firstLine(r.Stderr))
		}
		l.told = true
	}
	if l.root != nil {
		return nil, l.root
	}
	sudo, err := find("sudo")
	if err != nil {
		return nil, err
	}
	argv := slices.Concat([]string{sudo, "-n", "--", "env", "LC_ALL=C"}, c.Env, []string{file})
	return append(argv, c.Argv[1:]...), nil
}

// ReadFile reads a whole file.
func (l *Local) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, fmt.Errorf("%s is a pipe, not a file", name) // it would wait for a writer
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out keep
	if _, err = io.Copy(&latch{to: &out}, f); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// WriteFile writes beside name and renames; a reader sees the old file or the
// whole new one.
func (l *Local) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = bytes.NewReader(data).WriteTo(f)
	if err = errors.Join(err, f.Chmod(perm), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
