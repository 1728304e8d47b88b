package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ascendctl/ascendctl/internal/report"
)

// SecretKind says what a Secret is for.
type SecretKind string

const (
	LoginPassword SecretKind = "password"   // of User on Host
	KeyPassphrase SecretKind = "passphrase" // of the private key File
	SudoPassword  SecretKind = "sudo"       // of User on Host
	Challenge     SecretKind = "challenge"  // the host's own question, in Ask
)

// Secret is what a person is asked for. The answer is kept in memory only.
type Secret struct {
	Kind       SecretKind
	Host, User string
	File       string
	Ask        string // words of the host; may hold anything
	Echo       bool   // what is typed may be shown
}

// errNobody: there is no terminal to ask.
var errNobody = errors.New("nobody to ask")

// promptTries is how often a person may mistype.
const promptTries = 3

// login tries to become the user of one hop and remembers what was tried.
type login struct {
	o       *Options
	h       hop
	prompt  func(Secret) (string, error)
	signers []ssh.Signer
	tried   []string
}

// methods gives what may open the door: keys of files and agent, then a
// password in its two forms. They work until ctx ends.
func (l *login) methods(ctx context.Context) ([]ssh.AuthMethod, error) {
	if err := l.keys(ctx); err != nil {
		return nil, err
	}
	var ms []ssh.AuthMethod
	if len(l.signers) > 0 {
		ms = append(ms, ssh.PublicKeys(l.signers...))
	}
	stored, err := l.storedPassword()
	if err != nil {
		return nil, err
	}
	tries := promptTries
	if stored != "" {
		tries = 1
	} else if l.o.Prompt == nil {
		return ms, nil
	}
	return append(ms,
		ssh.RetryableAuthMethod(ssh.KeyboardInteractive(func(_, _ string, qs []string, echo []bool) ([]string, error) {
			return l.answers(stored, qs, echo)
		}), tries),
		ssh.RetryableAuthMethod(ssh.PasswordCallback(func() (string, error) {
			l.note("password")
			if stored != "" {
				return stored, nil
			}
			return l.prompt(Secret{Kind: LoginPassword, Host: l.h.name, User: l.h.user})
		}), tries)), nil
}

func (l *login) note(what string) {
	if !slices.Contains(l.tried, what) {
		l.tried = append(l.tried, what)
	}
}

// answers meets a keyboard-interactive round. A single hidden question is the
// password; anything else is for a person.
func (l *login) answers(stored string, qs []string, echo []bool) ([]string, error) {
	out := make([]string, len(qs))
	for i, q := range qs {
		l.note("keyboard-interactive")
		if stored != "" && len(qs) == 1 && !echo[i] {
			out[i] = stored
			continue
		}
		s := Secret{Kind: Challenge, Host: l.h.name, User: l.h.user, Ask: q, Echo: echo[i]}
		if len(qs) == 1 && !echo[i] && strings.Contains(strings.ToLower(q), "password") {
			s.Kind = LoginPassword
		}
		answer, err := l.prompt(s)
		if err != nil {
			return nil, err
		}
		out[i] = answer
	}
	return out, nil
}

// storedPassword comes from the variable the hosts file names, from ours, or
// from a file that only its owner can read.
func (l *login) storedPassword() (string, error) {
	if v := cmp.Or(l.o.env(l.h.passwordEnv), l.o.env("ASCENDCTL_SSH_PASSWORD")); v != "" || l.o.PasswordFile == "" {
		return v, nil
	}
	f := l.o.PasswordFile
	p := &report.Problem{What: report.T("cannot use the password file %s", "无法使用密码文件 %s", f), Exit: report.ExitUsage}
	info, err := os.Stat(f)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		p.Why = report.T("others may read it (mode %04o)", "其他用户可读（权限 %04o）", info.Mode().Perm())
		p.Run = report.Line("chmod", "600", f)
		return "", p
	}
	var data []byte
	if err == nil {
		data, err = readSmall(f)
	}
	if err != nil {
		p.Why, p.Err = report.Same(err.Error()), err
		return "", p
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}

// readSmall reads a file that a person wrote by hand or a key.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const limit = 64 << 10
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%s: larger than %d KiB", name, limit>>10)
	}
	return data, err
}

// keys collects signers in the order in which servers see them, for a server
// counts attempts: the key named for this host, those of the agent, the rest.
func (l *login) keys(ctx context.Context) error {
	inAgent := l.agentKeys(ctx)
	if l.h.identity != "" {
		s, err := l.keyFile(l.h.identity, inAgent)
		if err != nil {
			return &report.Problem{
				What: report.T("cannot use the key %s for %s", "无法将密钥 %s 用于 %s", l.h.identity, l.h.name),
				Why:  report.Same(err.Error()), Do: report.T("name a private key in OpenSSH or PEM form", "指定 OpenSSH 或 PEM 格式的私钥"),
				Exit: report.ExitUsage, Err: err,
			}
		}
		l.add(s)
	}
	for _, s := range inAgent {
		l.add(s)
	}
	if len(inAgent) > 0 {
		l.note(fmt.Sprintf("agent (%d)", len(inAgent)))
	}
	for _, f := range l.h.keys {
		s, err := l.keyFile(f, inAgent)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			l.note(err.Error())
			continue
		}
		l.add(s)
	}
	return nil
}

// add leaves out a key that is there already.
func (l *login) add(s ssh.Signer) {
	blob := string(s.PublicKey().Marshal())
	for _, have := range l.signers {
		if string(have.PublicKey().Marshal()) == blob {
			return
		}
	}
	l.signers = append(l.signers, s)
}

// agentKeys asks the agent; one that cannot be reached, or does not answer
// before ctx ends, has no keys.
func (l *login) agentKeys(ctx context.Context) []ssh.Signer {
	sock := l.o.env("SSH_AUTH_SOCK")
	if sock == "" {
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", sock)
	if err != nil {
		l.note("agent: " + err.Error())
		return nil
	}
	context.AfterFunc(ctx, func() { conn.Close() }) // the signers need it until the login is over
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		l.note("agent: " + err.Error())
	}
	return signers
}

// keyFile reads a private key. One that is encrypted is opened only when the
// server would take it, unless the agent has it.
func (l *login) keyFile(name string, inAgent []ssh.Signer) (ssh.Signer, error) {
	data, err := readSmall(name)
	if err != nil {
		return nil, err
	}
	s, err := ssh.ParsePrivateKey(data)
	var locked *ssh.PassphraseMissingError
	if err == nil || !errors.As(err, &locked) {
		l.note(name)
		return s, wrapKey(name, err)
	}
	pub := locked.PublicKey
	if pub == nil { // the old PEM form hides it
		if side, err := readSmall(name + ".pub"); err == nil {
			pub, _, _, _, _ = ssh.ParseAuthorizedKey(side)
		}
	}
	open := func() (ssh.Signer, error) {
		word, err := l.prompt(Secret{Kind: KeyPassphrase, Host: l.h.name, User: l.h.user, File: name})
		if err != nil {
			return nil, fmt.Errorf("%s is encrypted: %w", name, err)
		}
		s, err := ssh.ParsePrivateKeyWithPassphrase(data, []byte(word))
		return s, wrapKey(name, err)
	}
	if pub == nil {
		return open()
	}
	for _, have := range inAgent {
		if string(have.PublicKey().Marshal()) == string(pub.Marshal()) {
			return have, nil
		}
	}
	l.note(name + " (encrypted)")
	return &lockedKey{pub: pub, open: open}, nil
}

func wrapKey(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "ssh: "))
}

// lockedKey is an encrypted key whose public half is known.
type lockedKey struct {
	pub  ssh.PublicKey
	open func() (ssh.Signer, error)
	key  ssh.Signer
}

func (k *lockedKey) PublicKey() ssh.PublicKey { return k.pub }

func (k *lockedKey) Sign(r io.Reader, data []byte) (*ssh.Signature, error) {
	return k.SignWithAlgorithm(r, data, "")
}

// SignWithAlgorithm asks for the passphrase at the first call.
func (k *lockedKey) SignWithAlgorithm(_ io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	if k.key == nil {
		s, err := k.open()
		if err != nil {
			return nil, err
		}
		k.key = s
	}
	if s, ok := k.key.(ssh.AlgorithmSigner); ok {
		return s.SignWithAlgorithm(rand.Reader, data, algorithm)
	}
	return k.key.Sign(rand.Reader, data)
}
