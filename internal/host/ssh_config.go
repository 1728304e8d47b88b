package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"

	"github.com/ascendctl/ascendctl/internal/report"
)

// hop is one machine on the way, with all that is needed to log in to it.
type hop struct {
	name        string // as the user knows it, for messages
	addr        string // host name or IP address to dial
	port        int
	user        string
	identity    string   // named for this host: goes before all other keys
	keys        []string // further private keys; one that is missing is no error
	passwordEnv string
	known       []string // known_hosts files; new keys go into the first
}

// dial is host:port, an IPv6 address in brackets.
func (h hop) dial() string { return net.JoinHostPort(h.addr, strconv.Itoa(h.port)) }

// maxHops is more than any network needs; beyond it two jumps name each other.
const maxHops = 8

// sshConfig answers from ~/.ssh/config. The zero value knows nothing.
type sshConfig struct {
	file string
	c    *ssh_config.Config
}

// readSSHConfig reads o.Config. A file that is not there is an empty one.
func readSSHConfig(o *Options) (sshConfig, error) {
	file := o.Config
	if file == "" && o.Home != "" {
		file = filepath.Join(o.Home, ".ssh", "config")
	}
	if file == "" || file == "none" {
		return sshConfig{}, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && o.Config == "" {
		return sshConfig{}, nil
	}
	var c *ssh_config.Config
	if err == nil {
		c, err = ssh_config.DecodeBytes(data)
	}
	if err != nil {
		return sshConfig{}, &report.Problem{
			What: report.T("cannot use %s", "无法使用 %s", file),
			Why:  report.Same(strings.TrimPrefix(err.Error(), "ssh_config: ")),
			Do:   report.T("correct that line; of Match only host and all are understood", "修正该行；Match 仅支持 host 和 all"),
			Run:  report.Line("ssh", "-G", "-F", file, "localhost"), Exit: report.ExitUsage, Err: err,
		}
	}
	return sshConfig{file, c}, nil
}

func (s sshConfig) get(alias, key string) string {
	if s.c == nil {
		return ""
	}
	v, err := s.c.Get(alias, key)
	if err != nil {
		return ""
	}
	return strings.Trim(v, `"`)
}

func (s sshConfig) all(alias, key string) []string {
	if s.c == nil {
		return nil
	}
	vs, err := s.c.GetAll(alias, key)
	if err != nil {
		return nil
	}
	return vs
}

// route gives the machines to log in to in order, the target last.
func route(t Target, o *Options) ([]hop, error) {
	cfg, err := readSSHConfig(o)
	if err != nil {
		return nil, err
	}
	last, err := cfg.fill(hop{name: t.Name, addr: t.Address, port: t.Port, user: t.User,
		identity: cmp.Or(o.Identity, t.Identity), passwordEnv: t.PasswordEnv}, o)
	if err != nil {
		return nil, err
	}
	var way []hop
	if len(t.Jump) > 0 {
		for _, j := range t.Jump {
			h, err := cfg.fill(hop{name: j.Name, addr: j.Address, port: j.Port, user: j.User,
				identity: j.Identity, passwordEnv: j.PasswordEnv}, o)
			if err != nil {
				return nil, err
			}
			way = append(way, h)
		}
	} else if way, err = cfg.jumps(t.Address, o, 0); err != nil {
		return nil, err
	}
	return append(way, last), nil
}

// jumps follows ProxyJump; a jump may itself have one.
func (s sshConfig) jumps(alias string, o *Options, depth int) ([]hop, error) {
	list := s.get(alias, "ProxyJump")
	if c := s.get(alias, "ProxyCommand"); list == "" && c != "" && !strings.EqualFold(c, "none") {
		return nil, s.refuse(alias, report.T("it has ProxyCommand %s, and only ProxyJump is understood", "其中设置了 ProxyCommand %s，而仅支持 ProxyJump", c))
	}
	if list == "" || strings.EqualFold(list, "none") {
		return nil, nil
	}
	if depth >= maxHops {
		return nil, s.refuse(alias, report.T("its ProxyJump leads over more than %d hosts", "其 ProxyJump 经过的主机超过 %d 台", maxHops))
	}
	var way []hop
	for i, word := range strings.Split(list, ",") {
		t, err := ParseTarget(strings.TrimSpace(word))
		if err != nil || t.Address == "" {
			return nil, s.refuse(alias, report.T("ProxyJump %s: want [user@]host[:port], separated by commas", "ProxyJump %s：应为以逗号分隔的 [user@]host[:port]", list))
		}
		if i == 0 { // the others are reached through it
			if way, err = s.jumps(t.Address, o, depth+1); err != nil {
				return nil, err
			}
		}
		h, err := s.fill(hop{name: t.Address, addr: t.Address, port: t.Port, user: t.User}, o)
		if err != nil {
			return nil, err
		}
		way = append(way, h)
	}
	return way, nil
}

func (s sshConfig) refuse(alias string, why report.Text) error {
	return &report.Problem{
		What: report.T("cannot reach %s the way %s says", "无法按 %[2]s 的设置到达 %[1]s", alias, s.file),
		Why:  why, Do: report.T("correct that host there, or name the jump host in a hosts file", "在该文件中修正此主机，或在主机清单中写明跳板机"),
		Exit: report.ExitUsage,
	}
}

// fill completes a hop from ~/.ssh/config and the built-in values.
func (s sshConfig) fill(h hop, o *Options) (hop, error) {
	alias := h.addr
	h.user = cmp.Or(h.user, s.get(alias, "User"), o.User)
	if h.port == 0 {
		h.port = 22
		if p := s.get(alias, "Port"); p != "" {
			n, err := strconv.Atoi(p)
			if err != nil || n < 1 || n > 65535 {
				return h, s.refuse(alias, report.T("Port %s: want 1 to 65535", "Port %s：应为 1 到 65535", p))
			}
			h.port = n
		}
	}
	if h.user == "" {
		return h, &report.Problem{What: report.T("no login name for %s", "缺少 %s 的登录用户名", alias),
			Do: report.T("write user@%s", "写成 user@%s", alias), Exit: report.ExitUsage}
	}
	if name := s.get(alias, "HostName"); name != "" {
		h.addr = strings.NewReplacer("%%", "%", "%h", alias).Replace(name)
	}
	tokens := func(f string) string {
		if rest, ok := strings.CutPrefix(f, "~/"); ok {
			f = filepath.Join(o.Home, rest)
		}
		return strings.NewReplacer("%%", "%", "%d", o.Home, "%h", h.addr, "%n", alias,
			"%p", fmt.Sprint(h.port), "%r", h.user, "%u", o.User).Replace(f)
	}
	if h.identity != "" {
		h.identity = tokens(h.identity)
	}
	for _, f := range s.all(alias, "IdentityFile") {
		h.keys = append(h.keys, tokens(strings.Trim(f, `"`)))
	}
	if len(h.keys) == 0 && o.Home != "" {
		for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
			h.keys = append(h.keys, filepath.Join(o.Home, ".ssh", "id_"+kind))
		}
	}
	h.known = o.KnownHosts
	if h.known == nil {
		for _, f := range strings.Fields(s.get(alias, "UserKnownHostsFile")) {
			h.known = append(h.known, tokens(f))
		}
		if h.known == nil && o.Home != "" {
			h.known = []string{filepath.Join(o.Home, ".ssh", "known_hosts")}
		}
		if h.known == nil {
			h.known = []string{""} // nowhere to write to, least of all the file of all users
		}
		h.known = append(h.known, "/etc/ssh/ssh_known_hosts")
	}
	return h, nil
}
