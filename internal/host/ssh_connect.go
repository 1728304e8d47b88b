package host

import (
	"cmp"
	"context"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Options is what Connect needs besides the target. The zero value reads no
// file of the user, asks nobody and trusts no new host.
type Options struct {
	Home   string              // of the local user: keys, config and known_hosts are in .ssh there
	User   string              // login name when neither target nor config has one
	Getenv func(string) string // for SSH_AUTH_SOCK and passwords; nil: an empty environment
	// Prompt asks a person; nil: there is nobody. It may be called by several
	// connections at once.
	Prompt func(context.Context, Secret) (string, error)

	Identity     string   // private key of the target that goes before all others
	PasswordFile string   // its first line is the login password
	AcceptNew    bool     // keys of unknown hosts are written down and trusted
	KnownHosts   []string // nil: as ~/.ssh/config says, or the usual files
	Config       string   // "": ~/.ssh/config; "none": no config
	// Sudo: always finds out at once how to become root, and fails if there is
	// no way; auto when a command needs it; never refuses such commands. It
	// does not make root of a command that did not ask for it. "": as the
	// target says.
	Sudo string

	Timeout   time.Duration // for each connection, and again for each login; 0: 15 s
	Keepalive time.Duration // between questions whether the host is there; 0: 15 s
}

func (o *Options) env(name string) string {
	if name == "" || o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

func (o *Options) timeout() time.Duration { return cmp.Or(o.Timeout, dialTimeout) }

const (
	localName    = "local"
	replayPrefix = "replay:"
)

// ParseTarget reads what a person writes after --host: local, replay:FILE, or
// [user@]host[:port] with an IPv6 address bare or in brackets. For local and a
// recording Address is empty.
func ParseTarget(word string) (Target, error) {
	if word == localName || strings.HasPrefix(word, replayPrefix) && word != replayPrefix {
		return Target{Name: word}, nil
	}
	t := Target{Name: word}
	rest := word
	if i := strings.LastIndexByte(word, '@'); i >= 0 {
		t.User, rest = word[:i], word[i+1:]
		if t.User == "" {
			return Target{}, badTarget(word, report.T("the name before @ is empty", "@ 前的用户名为空"))
		}
	}
	var port string
	switch {
	case strings.HasPrefix(rest, "["):
		in, after, closed := strings.Cut(rest[1:], "]")
		if _, err := netip.ParseAddr(in); err != nil || !closed || after != "" && after[0] != ':' {
			return Target{}, badTarget(word, report.T("want an IPv6 address in the brackets, then :port or nothing", "方括号内应为 IPv6 地址，其后为 :port 或为空"))
		}
		t.Address, port = in, after
	case strings.Count(rest, ":") > 1:
		if _, err := netip.ParseAddr(rest); err != nil {
			return Target{}, badTarget(word, report.T("%s is no IPv6 address; for one with a port write [address]:port", "%s 不是 IPv6 地址；带端口时写成 [address]:port", rest))
		}
		t.Address = rest
	default:
		i := strings.IndexByte(rest+":", ':')
		t.Address, port = rest[:i], rest[i:]
	}
	if t.Address == "" || t.Address[0] == '-' || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Target{}, badTarget(word, report.T("the host name is empty or starts with -, or something holds a blank", "主机名为空、以 - 开头，或含有空白字符"))
	}
	if port != "" {
		n, err := strconv.Atoi(port[1:])
		if err != nil || n < 1 || n > 65535 {
			return Target{}, badTarget(word, report.T("port %s: want 1 to 65535", "端口 %s：应为 1 到 65535", port[1:]))
		}
		t.Port = n
	}
	return t, nil
}

func badTarget(word string, why report.Text) error {
	return &report.Problem{
		What: report.T("cannot understand the host %q", "无法理解主机 %q", word), Why: why,
		Do:   report.T("write local, [user@]host[:port] or replay:FILE", "写成 local、[user@]host[:port] 或 replay:FILE"),
		Exit: report.ExitUsage,
	}
}

// Connect opens the door to t. An error of an unreachable host is an
// ErrUnreachable; an *UnknownKey or *ChangedKey inside it says that it is the
// host key that stands in the way.
func Connect(ctx context.Context, t Target, o Options) (Host, error) {
	switch {
	case t.Address == "" && t.Name == localName:
		return NewLocal(), nil
	case t.Address == "":
		file, ok := strings.CutPrefix(t.Name, replayPrefix)
		if !ok {
			return nil, badTarget(t.Name, report.T("it has no address", "缺少地址"))
		}
		return OpenReplay(file)
	}
	s, err := dialSSH(ctx, t, o)
	if err != nil {
		return nil, err
	}
	if s.sudo == "always" {
		if err := s.Elevate(ctx); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}
