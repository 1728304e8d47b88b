package cmd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/ascendctl/ascendctl/internal/hub"
)

// Exec runs a tool of this machine for room hub: no input, stdout and stderr
// as one. When ctx ends the tool and its children are ended with it.
func Exec(ctx context.Context, c hub.Command) (out []byte, exit int, err error) {
	cc := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cc.Dir = c.Dir
	cc.Env = append(os.Environ(), c.Env...)
	var both bytes.Buffer
	cc.Stdout, cc.Stderr = &both, &both
	ownGroup(cc)
	cc.WaitDelay = 2 * time.Second
	err = cc.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ctx.Err() == nil {
		return both.Bytes(), ended.ExitCode(), nil
	}
	return both.Bytes(), 0, err
}
