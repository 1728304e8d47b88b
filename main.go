// ascendctl takes a Huawei Ascend NPU host from bare to serving.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/ascendctl/ascendctl/cmd"
)

// Set by the linker.
var version, commit, date = "dev", "", ""

func main() {
	// The first signal ends ctx and the command winds up; NotifyContext then
	// lets go, so the second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	self, _ := os.Executable()
	columns, _, _ := term.GetSize(int(os.Stdout.Fd()))
	var ask func(context.Context, string, bool) (string, error)
	if term.IsTerminal(int(os.Stdin.Fd())) && os.Getenv("CI") == "" {
		ask = askPerson
	}
	os.Exit(cmd.Main(ctx, cmd.App{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())), ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		Columns: columns,
		Getenv:  os.Getenv, Environ: os.Environ(), Now: time.Now, Rand: rand.Reader,
		Exec: cmd.Exec, LookPath: exec.LookPath, Hostname: os.Hostname, Ask: ask, Self: self,
		Build: cmd.Build{Version: version, Commit: commit, Date: date},
	}, os.Args[1:]))
}

// askPerson asks on the terminal. The question goes to stderr: stdout is the
// answer of the command.
func askPerson(_ context.Context, question string, echo bool) (string, error) {
	fmt.Fprint(os.Stderr, question+" ")
	if !echo {
		defer fmt.Fprintln(os.Stderr)
		answer, err := term.ReadPassword(int(os.Stdin.Fd()))
		return string(answer), err
	}
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return strings.TrimSpace(line), err
}
