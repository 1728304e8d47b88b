package host

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// What goes over a session. The command line that the login shell sees is the
// same plain text every time, so sh, csh and fish all read it alike, no
// argument can be too long, and neither argv nor environment shows in a list
// of processes. The first bytes of stdin are the program it evaluates; a mark
// on both outputs says where banners end and the answer starts. The command's
// own stdin follows in chunks, so that the end of the input ("0") and the end
// of the session (EOF) differ: at the second, whatever still runs is killed.

// loader evaluates the next n bytes of stdin. dd reads not one byte more.
func loader(n int) string {
	return fmt.Sprintf(`eval "$(dd bs=%d count=1 iflag=fullblock 2>/dev/null)"`, n)
}

// loginLine is what the login shell is asked to run.
func loginLine(program string) string {
	return "/bin/sh -c '" + loader(len(program)) + "' ascendctl"
}

// words that follow the nonce on the mark of stderr.
const (
	markPlain    = "plain"    // runs as the login user
	markRoot     = "root"     // the login user is root
	markFree     = "free"     // sudo asks for no password
	markPassword = "password" // sudo took the password
	markNoSudo   = "nosudo"   // there is no sudo
	markRefused  = "refused"  // sudo said no
	markAbsent   = "absent"   // no such command
)

// runner is the innermost program. $1 is how it got its rights, the rest argv.
//
// The left side of the pipe feeds the command and then waits for the end of
// the session, until the right side kills it because the command has ended. If
// the session ends first, reap kills what is left of it: by session id, because
// timeout(1) gives its child a process group of its own and children may
// outlive their parents; a job that took a session of its own (setsid) is meant
// to stay. SIGTERM comes first and a second later SIGKILL.
const runner = `how=$1; shift
export LC_ALL=C%[2]s
exec 5>&2 2>/dev/null
say() { printf '\n%%s\n' %[1]s; printf '\n%%s %%s\n' %[1]s "$1" >&5; }
if ! command -v "$1" >/dev/null; then # a user's PATH often lacks sbin
  file=$(PATH=/usr/local/sbin:/usr/sbin:/sbin; command -v "$1") || { say absent; exit 127; }
  shift; set -- "$file" "$@"
fi
say "$how"
reap() {
trap '' TERM
for sig in TERM 0 0 0 0 KILL KILL; do
  left=
  for f in /proc/[0-9]*/stat; do
    read -r pid stat <"$f" || continue
    case $pid in "$feeder" | "$watcher") continue;; esac
    set -- ${stat##*) }
    [ "$4" = "$sid" ] && [ "$1" != Z ] && kill -$sig "$pid" && left=y
  done
  [ "$left" ] || break
  sleep 0.2
done
exit
}
{ read -r feeder stat </proc/self/stat; set -- ${stat##*) }; sid=$4
%[3]s
printf '%%s\n' "$feeder $watcher"
exec 5>&-
while read -r n && [ "$n" -gt 0 ]; do dd bs="$n" count=1 iflag=fullblock; done
if [ "$n" = 0 ]; then exec >/dev/null; read -r n; fi
reap
} | { read -r pids; (exec "$@" 2>&5 5>&-); r=$?; kill -9 $pids; exit $r; }
exit $?
`

// watcher is for a command with input: if it does not read, the feeder is
// stuck and cannot see the end of the session. A mark on stderr every second,
// which the client takes out again, fails when there is no session any more.
const watcher = `{ trap '' PIPE TERM; read -r watcher stat </proc/self/stat
while sleep 1 5>&-; do printf '\n%[1]s .\n' >&5 || reap; done; } >/dev/null & watcher=$!`

// elevator decides once how to become root and goes on inside. The password
// lines are read by whoever they are for and by nobody else: never in argv,
// and dropped where they are not needed. $1 is an earlier decision or empty.
const elevator = `how=$1; shift
export LC_ALL=C
try() { sudo "$@" -- /bin/sh -c :; }
say() { printf '\n%%s\n' %[1]s; printf '\n%%s %%s\n%%s' %[1]s "$1" "$2" >&2; exit 126; }
skip() { [ %[3]d = 0 ] || read -r line; }
if [ -z "$how" ]; then
  pw=; [ %[3]d = 0 ] || IFS= read -r pw
  if [ "$(id -u)" = 0 ]; then how=root
  elif ! command -v sudo >/dev/null 2>&1; then how=nosudo
  elif why=$(try -n 2>&1 </dev/null); then how=free
  elif [ %[3]d != 0 ] && why=$(printf '%%s\n' "$pw" | try -k -S -p '' 2>&1); then how=password
  else how=refused
  fi
  unset pw
fi
case $how in
root) skip; set -- root "$@"; %[2]s;;
free) skip; exec sudo -n -- /bin/sh -c '%[2]s' ascendctl free "$@";;
password) exec sudo -k -S -p '' -- /bin/sh -c '%[2]s' ascendctl password "$@";;
*) say "$how" "$why";;
esac
`

// prepared is a command made ready for a session.
type prepared struct {
	line  string // for the login shell
	first []byte // what stdin starts with
}

// prepare makes c ready. how is what is known about becoming root: "" decides.
// password is sent only when not empty.
func prepare(nonce string, c Command, how, password string) (prepared, error) {
	env, err := exports(c.Env)
	if err != nil {
		return prepared{}, err
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return prepared{}, fmt.Errorf("no command")
	}
	for _, a := range c.Argv {
		if strings.ContainsRune(a, 0) {
			return prepared{}, fmt.Errorf("argument %q holds a NUL byte", a)
		}
	}
	watch := "watcher="
	if c.Stdin != nil {
		watch = fmt.Sprintf(watcher, nonce)
	}
	inner := fmt.Sprintf(runner, nonce, env, watch)
	if !c.Root {
		program := setArgs(markPlain, c.Argv) + inner
		return prepared{loginLine(program), []byte(program)}, nil
	}
	with := 0
	var secret string
	if password != "" {
		with = 1
		secret = password + "\n" // for sudo itself
		if how == "" {
			secret += secret // and for the decision before it
		}
	}
	program := setArgs(how, c.Argv) + fmt.Sprintf(elevator, nonce, loader(len(inner)), with)
	return prepared{loginLine(program), []byte(program + secret + inner)}, nil
}

func setArgs(how string, argv []string) string {
	return "set -- " + strings.Join(quoteAll(append([]string{how}, argv...)), " ") + "\n"
}

// exports gives shell text that adds KEY=VALUE pairs to the environment.
func exports(env []string) (string, error) {
	var b strings.Builder
	for _, kv := range env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || !isName(k) || strings.ContainsRune(v, 0) {
			return "", fmt.Errorf("environment entry %q: want NAME=VALUE, without NUL bytes", k)
		}
		b.WriteString(" " + k + "=" + quote(v))
	}
	return b.String(), nil
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// chunkSize bounds one piece of stdin: large enough that a process per piece
// costs little (measured: 64 KiB halves the throughput), small enough to keep.
const chunkSize = 1 << 20

// feed sends the program and then stdin in chunks. It leaves w open after the
// last one, for closing it is how a command is stopped.
func feed(w io.Writer, first []byte, stdin io.Reader) error {
	if stdin == nil {
		_, _ = w.Write(append(first, "0\n"...)) // fails when the command ended early, which is its right
		return nil
	}
	buf := make([]byte, chunkSize)
	for {
		n, err := stdin.Read(buf)
		if n > 0 {
			first = append(append(first, strconv.Itoa(n)+"\n"...), buf[:n]...)
		}
		if err == io.EOF {
			first = append(first, "0\n"...)
		}
		if len(first) > 0 {
			if _, werr := w.Write(first); werr != nil {
				return nil // as above
			}
			first = first[:0]
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// after passes on what comes after the mark and keeps what came before: a
// banner, or the reason why there is no mark. It takes out the watcher's beats.
type after struct {
	mark   []byte // "\n" and the nonce
	beat   []byte
	to     io.Writer
	stop   func(error) // called once when to fails
	head   []byte      // before the mark; behind it, what may be half a beat
	words  string      // what stands behind the nonce on its line
	seen   bool
	failed bool
}

// headMax bounds what is kept before the mark; no banner is longer.
const headMax = 256 << 10

func newAfter(nonce string, to io.Writer, stop func(error)) *after {
	return &after{mark: []byte("\n" + nonce), beat: []byte("\n" + nonce + " .\n"), to: to, stop: stop}
}

// Write never fails: a stream that is not read any more would hang the command
// instead of ending it.
func (a *after) Write(p []byte) (int, error) {
	a.head = append(a.head, p...)
	if !a.seen {
		a.look()
	}
	if a.seen {
		a.pass(bytes.ReplaceAll(a.head, a.beat, nil))
	} else if over := len(a.head) - headMax; over > 0 {
		a.head = append(a.head[:0], a.head[over:]...)
	}
	return len(p), nil
}

// look searches the head for the mark; what stands before it is forgotten.
func (a *after) look() {
	if i := bytes.Index(a.head, a.mark); i >= 0 {
		words, rest, whole := bytes.Cut(a.head[i+len(a.mark):], []byte("\n"))
		if whole {
			a.seen, a.words, a.head = true, strings.TrimSpace(string(words)), rest
		}
	}
}

// pass writes p but for what its end has in common with a beat's beginning.
func (a *after) pass(p []byte) {
	n := min(len(p), len(a.beat)-1)
	for !bytes.HasPrefix(a.beat, p[len(p)-n:]) {
		n--
	}
	a.put(p[:len(p)-n])
	a.head = append(a.head[:0], p[len(p)-n:]...)
}

// flush is called when nothing more comes.
func (a *after) flush() {
	if a.seen {
		a.put(a.head)
		a.head = nil
	}
}

func (a *after) put(p []byte) {
	if len(p) == 0 || a.failed {
		return
	}
	if _, err := a.to.Write(p); err != nil {
		a.failed = true
		a.stop(err)
	}
}

// keep holds what a command said when nobody handed in a writer.
type keep struct{ bytes.Buffer }

// keepMax is more than any command says whose answer is looked at as a whole.
const keepMax = 64 << 20

func (k *keep) Write(p []byte) (int, error) {
	if k.Len()+len(p) > keepMax {
		return 0, fmt.Errorf("%w: more than %d MiB; hand in a writer", ErrTooLarge, keepMax>>20)
	}
	return k.Buffer.Write(p)
}
