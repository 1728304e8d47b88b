package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/ascendctl/ascendctl/internal/report"
)

// UnknownKey says that nobody has seen the key of a host before. Whoever can
// ask a person shows Fingerprint, calls Trust on a yes, and connects again.
type UnknownKey struct {
	Host        string // as the user knows it
	Addr        string // host:port that was dialled
	Type        string // ssh-ed25519, ...
	Fingerprint string // SHA256:...
	File        string // known_hosts file that Trust writes to

	key ssh.PublicKey
}

func (e *UnknownKey) Error() string {
	return fmt.Sprintf("the %s key of %s is not known: %s", e.Type, e.Addr, e.Fingerprint)
}

// ChangedKey says that a host shows another key than it did before.
type ChangedKey struct {
	Host, Addr string
	Type       string
	Got        string // fingerprint of the key it shows now
	Known      string // fingerprint of the one on file
	KnownType  string
	File       string
	Line       int
}

func (e *ChangedKey) Error() string {
	return fmt.Sprintf("%s shows %s %s, %s:%d has %s %s", e.Addr, e.Type, e.Got, e.File, e.Line, e.KnownType, e.Known)
}

// knownKeys is what the known_hosts files say about one address.
type knownKeys struct {
	hop   hop
	check ssh.HostKeyCallback
}

// readKnown reads those files of h that exist.
func readKnown(h hop) (*knownKeys, error) {
	var files []string
	for _, f := range h.known {
		if _, err := os.Stat(f); err == nil {
			files = append(files, f)
		}
	}
	check, err := knownhosts.New(files...)
	if err != nil {
		return nil, &report.Problem{
			What: report.T("cannot use the known host keys", "无法使用已知主机密钥文件"),
			Why:  report.Same(strings.TrimPrefix(err.Error(), "knownhosts: ")),
			Do:   report.T("correct that file, or move it away", "修正该文件，或将其移走"), Exit: report.ExitUsage, Err: err,
		}
	}
	return &knownKeys{h, check}, nil
}

// verify is the ssh.HostKeyCallback.
func (k *knownKeys) verify(addr string, remote net.Addr, key ssh.PublicKey) error {
	err := k.check(addr, nowhere{remote}, key)
	var differs *knownhosts.KeyError
	if !errors.As(err, &differs) {
		return err
	}
	shown := ssh.FingerprintSHA256(key)
	if len(differs.Want) == 0 {
		e := &UnknownKey{Host: k.hop.name, Addr: k.hop.dial(), Type: key.Type(), Fingerprint: shown, key: key}
		if len(k.hop.known) > 0 {
			e.File = k.hop.known[0]
		}
		return e
	}
	was := differs.Want[0]
	for _, w := range differs.Want {
		if w.Key.Type() == key.Type() {
			was = w
			break
		}
	}
	return &ChangedKey{Host: k.hop.name, Addr: k.hop.dial(), Type: key.Type(), Got: shown,
		Known: ssh.FingerprintSHA256(was.Key), KnownType: was.Key.Type(), File: was.Filename, Line: was.Line}
}

// nowhere stands for the peer of a connection through a jump host, whose
// address knownhosts cannot split and does not need.
type nowhere struct{ net.Addr }

func (n nowhere) String() string {
	if n.Addr != nil {
		if s := n.Addr.String(); strings.Contains(s, ":") {
			return s
		}
	}
	return "0.0.0.0:0"
}

// algorithms puts those the files hold for this host first, in the order of
// the file. A server with keys of several kinds would else show one that is
// not on file, and an honest host would look like a changed one.
func (k *knownKeys) algorithms() []string {
	var differs *knownhosts.KeyError
	err := k.check(k.hop.dial(), nowhere{}, noKey{})
	if !errors.As(err, &differs) || len(differs.Want) == 0 {
		return nil // none on file: the library's order
	}
	var order []string
	for _, w := range differs.Want {
		if w.Key.Type() == ssh.KeyAlgoRSA {
			order = append(order, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
			continue
		}
		order = append(order, w.Key.Type())
	}
	order = append(order, ssh.SupportedAlgorithms().HostKeys...)
	seen := map[string]bool{}
	return slices.DeleteFunc(order, func(a string) bool { dup := seen[a]; seen[a] = true; return dup })
}

// noKey is a key that no file holds: asking for it lists what is on file.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// Trust writes the key into File, under a lock and only once. Names are hashed
// when the file hashes them already.
func (e *UnknownKey) Trust() (err error) {
	if e.File == "" {
		return errors.New("no known_hosts file to write to")
	}
	if err := os.MkdirAll(filepath.Dir(e.File), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(e.File, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := lockFile(f); err != nil { // the lock goes with the file
		return fmt.Errorf("lock %s: %w", e.File, err)
	}
	const mostOfAFile = 16 << 20
	data, err := io.ReadAll(io.LimitReader(f, mostOfAFile))
	if err != nil {
		return err
	}
	if known, err := readKnown(hop{name: e.Host, known: []string{e.File}}); err == nil && known.check(e.Addr, nowhere{}, e.key) == nil {
		return nil // another run was faster
	}
	name := knownhosts.Normalize(e.Addr)
	if bytes.HasPrefix(data, []byte("|1|")) || bytes.Contains(data, []byte("\n|1|")) {
		name = knownhosts.HashHostname(name)
	}
	line := name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(e.key))) + "\n"
	if len(data) > 0 && data[len(data)-1] != '\n' {
		line = "\n" + line
	}
	_, err = f.WriteString(line)
	return err
}

// keyProblem words a host key that cannot be trusted; nil when err is another
// matter.
func keyProblem(err error) *report.Problem {
	var unknown *UnknownKey
	var changed *ChangedKey
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &unknown):
		return &report.Problem{
			What: report.T("the host key of %s is not known", "%s 的主机密钥未知", unknown.Host),
			Why:  report.T("%s shows %s %s", "%s 出示的密钥为 %s %s", unknown.Addr, unknown.Type, unknown.Fingerprint),
			Do:   report.T("compare the fingerprint with the host's own, then agree to it, or use --accept-new-host-key", "与主机自身的指纹核对后确认，或使用 --accept-new-host-key"),
			Exit: report.ExitUnreachable, Err: errors.Join(ErrUnreachable, err),
		}
	case errors.As(err, &changed):
		host, port, _ := net.SplitHostPort(changed.Addr)
		name := knownhosts.Normalize(net.JoinHostPort(host, port))
		return &report.Problem{
			What: report.T("the host key of %s has changed, not connected", "%s 的主机密钥已变更，未连接", changed.Host),
			Why: report.T("%s shows %s %s, but %s:%d has %s %s", "%s 出示 %s %s，而 %s:%d 记录为 %s %s",
				changed.Addr, changed.Type, changed.Got, changed.File, changed.Line, changed.KnownType, changed.Known),
			Do:   report.T("if the host was reinstalled, remove the old key; else somebody may be listening in", "若主机已重装，删除旧密钥；否则可能存在中间人攻击"),
			Run:  report.Line("ssh-keygen", "-R", name, "-f", changed.File),
			Exit: report.ExitUnreachable, Err: errors.Join(ErrUnreachable, err),
		}
	case errors.As(err, &revoked):
		return &report.Problem{
			What: report.T("the host key is revoked, not connected", "主机密钥已吊销，未连接"),
			Why:  report.Same(fmt.Sprintf("%s:%d", revoked.Revoked.Filename, revoked.Revoked.Line)),
			Do:   report.T("ask whoever looks after the host for its new key", "向主机管理员获取新密钥"),
			Exit: report.ExitUnreachable, Err: errors.Join(ErrUnreachable, err),
		}
	}
	return nil
}
