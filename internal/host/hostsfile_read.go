package host

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// hostsFile is the file as it is written.
type hostsFile struct {
	Version  int                  `yaml:"version"`
	Defaults hostEntry            `yaml:"defaults"`
	Jumps    map[string]jumpEntry `yaml:"jumps"`
	Hosts    map[string]hostEntry `yaml:"hosts"`
	Groups   map[string]struct {
		Hosts     []string          `yaml:"hosts"`
		Match     map[string]string `yaml:"match"`
		hostEntry `yaml:",inline"`
	} `yaml:"groups"`
}

type jumpEntry struct {
	Address     string `yaml:"address"`
	Port        int    `yaml:"port"`
	User        string `yaml:"user"`
	Identity    string `yaml:"identity"`
	PasswordEnv string `yaml:"password_env"`
	Jump        string `yaml:"jump"`
}

type hostEntry struct {
	jumpEntry       `yaml:",inline"`
	SudoPasswordEnv string            `yaml:"sudo_password_env"`
	Sudo            string            `yaml:"sudo"`
	Lang            string            `yaml:"lang"`
	Labels          map[string]string `yaml:"labels"`
	Managed         []string          `yaml:"managed"`
	Product         string            `yaml:"product"`
	InstallPath     string            `yaml:"install_path"`
	Set             map[string]string `yaml:"set"`
}

func (h *Hosts) readOwn(m *mistakes, top *yaml.Node) {
	if top == nil {
		m.add(1, "the file is empty: want version: 1 and hosts", "文件为空：应有 version: 1 和 hosts")
		return
	}
	refuseSecrets(m, top)
	var f hostsFile
	if m.decode(top, &f); m.n > 0 {
		return
	}
	if f.Version != 1 {
		m.add(lineOf(top, "version"), "version: want 1, got %d", "version：应为 1，实为 %d", f.Version)
	}
	f.check(m, top)
	for _, pattern := range byLine(f.Hosts, top, "hosts") {
		h.addEntry(m, lineOf(top, "hosts", pattern), pattern, f.Hosts[pattern])
	}
	if m.n > 0 {
		return
	}
	h.readGroups(m, top, &f)
	for i := range h.hosts {
		t := &h.hosts[i]
		t.fill(f.Defaults)
		t.Address = cmp.Or(t.Address, t.Name)
		if len(t.Jump) > 0 {
			t.Jump = f.route(m, top, t)
		}
	}
}

// secretKeys hold what must not be in the file, and ways to say it.
var secretKeys = []string{"password", "pass", "passwd", "sudo_password", "passphrase", "private_key", "key", "secret", "token"}

// refuseSecrets takes them out of the tree, so that they are told once.
func refuseSecrets(m *mistakes, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if key := n.Content[i]; slices.Contains(secretKeys, key.Value) && n.Content[i+1].Kind == yaml.ScalarNode {
			m.add(key.Line, "%s: secrets do not belong in this file: name a variable with password_env or sudo_password_env, or a key file with identity",
				"%s：此文件中不应有密码或密钥：用 password_env 或 sudo_password_env 指定变量名，或用 identity 指定密钥文件", brief(key.Value))
			n.Content = slices.Delete(n.Content, i, i+2)
			i -= 2
		}
	}
	for _, c := range n.Content {
		refuseSecrets(m, c)
	}
}

// byLine gives the keys of a section in the order of the file.
func byLine[V any](section map[string]V, top *yaml.Node, name string) []string {
	return slices.SortedFunc(maps.Keys(section), func(a, b string) int {
		return cmp.Or(cmp.Compare(lineOf(top, name, a), lineOf(top, name, b)), cmp.Compare(a, b))
	})
}

func (f *hostsFile) check(m *mistakes, top *yaml.Node) {
	if f.Defaults.Address != "" {
		m.add(lineOf(top, "defaults", "address"), "defaults.address: hosts cannot share an address", "defaults.address：主机不能共用地址")
	}
	f.Defaults.check(m, lineOf(top, "defaults"), "defaults")
	for name, j := range f.Jumps {
		at := lineOf(top, "jumps", name)
		j.check(m, at, "jumps."+name)
		if j.Address == "" {
			m.add(at, "jumps.%s: address is missing", "jumps.%s：缺少 address", brief(name))
		}
	}
	for name, e := range f.Hosts {
		e.check(m, lineOf(top, "hosts", name), "hosts."+name)
	}
	for name, g := range f.Groups {
		at := lineOf(top, "groups", name)
		g.check(m, at, "groups."+name)
		if g.Address != "" || len(g.Labels) > 0 {
			m.add(at, "groups.%s: address and labels belong to hosts", "groups.%s：address 和 labels 只能写在主机下", brief(name))
		}
		if len(g.Hosts) == 0 && len(g.Match) == 0 {
			m.add(at, "groups.%s: want hosts or match", "groups.%s：应有 hosts 或 match", brief(name))
		}
	}
}

func (j jumpEntry) check(m *mistakes, line int, path string) {
	bad := func(key, want, wantZh, got string) {
		m.add(line, "%s.%s: want %s, got %q", "%s.%s：应为%s，实为 %q", brief(path), key, report.T(want, wantZh), brief(got))
	}
	if strings.ContainsAny(j.Address, " \t@/") {
		bad("address", "a host name or an IP address", "主机名或 IP 地址", j.Address)
	}
	if j.Port < 0 || j.Port > 65535 {
		bad("port", "1 to 65535", " 1 到 65535", strconv.Itoa(j.Port))
	}
	if strings.ContainsAny(j.User, " \t:@/") {
		bad("user", "a login name", "登录名", j.User)
	}
	if strings.Contains(j.Identity, "\n") || strings.Contains(j.Identity, "PRIVATE KEY") {
		m.add(line, "%s.identity: want the path of a key file, not the key", "%s.identity：应为密钥文件的路径，而不是密钥本身", brief(path))
	}
	if j.PasswordEnv != "" && !isVariable(j.PasswordEnv) {
		m.add(line, "%s.password_env: want the name of an environment variable, not the password", "%s.password_env：应为环境变量名，而不是密码", brief(path))
	}
}

func isVariable(s string) bool {
	return s != "" && !digit(s[0]) && !strings.ContainsFunc(s, func(r rune) bool { return r > 127 || !wordByte(byte(r)) })
}

func (e hostEntry) check(m *mistakes, line int, path string) {
	e.jumpEntry.check(m, line, path)
	if e.SudoPasswordEnv != "" && !isVariable(e.SudoPasswordEnv) {
		m.add(line, "%s.sudo_password_env: want the name of an environment variable, not the password", "%s.sudo_password_env：应为环境变量名，而不是密码", brief(path))
	}
	one := func(key, got string, words ...string) {
		if got != "" && !slices.Contains(words, got) {
			m.add(line, "%s.%s: want %s, got %q", "%s.%s：应为 %s，实为 %q", brief(path), key, strings.Join(words, ", "), brief(got))
		}
	}
	one("sudo", e.Sudo, "auto", "always", "never", "true", "false")
	one("lang", e.Lang, "en", "zh")
	for _, w := range e.Managed {
		one("managed", w, "driver", "firmware", "cann", "ops", "nnal", "engine", "operators", "os_packages")
	}
}

// addEntry adds the hosts of one entry; ranges of its name and of its values
// pair up.
func (h *Hosts) addEntry(m *mistakes, line int, pattern string, e hostEntry) {
	names, ranged, wrong := pairUp(pattern)
	if !wrong.IsZero() {
		m.add(line, "hosts.%s: %s", "hosts.%s：%s", brief(pattern), wrong)
		return
	}
	addresses, addressRanged, wrong := pairUp(e.Address)
	switch {
	case !wrong.IsZero():
		m.add(line, "hosts.%s.address: %s", "hosts.%s.address：%s", brief(pattern), wrong)
		return
	case (ranged && e.Address != "" || addressRanged) && len(names) != len(addresses):
		m.add(line, "hosts.%s: %d names and %d addresses: ranges must pair up", "hosts.%s：%d 个名称对应 %d 个地址：范围必须一一对应",
			brief(pattern), len(names), len(addresses))
		return
	}
	for i, name := range names {
		switch {
		case !plainName(name):
			m.add(line, "host %q: want letters, digits, dots, hyphens and underscores", "主机 %q：名称应由字母、数字、点、连字符和下划线组成", brief(name))
			return
		case h.has(name):
			m.add(line, "host %s stands twice", "主机 %s 重复", name)
			return
		case len(h.hosts) >= maxTargets:
			m.add(line, "over %d hosts", "主机超过 %d 台", maxTargets)
			return
		}
		t := Target{Name: name}
		if e.Address != "" {
			t.Address = strings.Trim(addresses[i], "[]")
		}
		one := e
		one.Address = ""
		t.fill(one)
		h.add(t)
	}
}

func plainName(s string) bool {
	return s != "" && s != "local" && len(s) < 254 && !strings.ContainsFunc(s, func(r rune) bool {
		return r > 127 || !wordByte(byte(r)) && r != '.' && r != '-'
	})
}

// pairUp expands the one numeric range a text may have: npu[03-10] keeps the
// leading zeros. ranged is false for a text without.
func pairUp(s string) (all []string, ranged bool, wrong report.Text) {
	re := regexp.MustCompile(`\[(\d{1,9})-(\d{1,9})\]`)
	at := re.FindAllStringSubmatchIndex(s, -1)
	if len(at) == 0 {
		return []string{s}, false, wrong
	}
	if len(at) > 1 {
		return nil, true, report.T("want at most one range", "最多只能有一个范围")
	}
	lo, hi := s[at[0][2]:at[0][3]], s[at[0][4]:at[0][5]]
	first, _ := strconv.Atoi(lo)
	last, _ := strconv.Atoi(hi)
	if last < first || last-first >= maxTargets {
		return nil, true, report.T("want a range that rises by less than %d, got [%s-%s]", "范围应递增且小于 %d 个，实为 [%s-%s]", maxTargets, lo, hi)
	}
	width := 0
	if lo[0] == '0' && len(lo) > 1 {
		width = len(lo)
	}
	for n := first; n <= last; n++ {
		all = append(all, fmt.Sprintf("%s%0*d%s", s[:at[0][0]], width, n, s[at[0][1]:]))
	}
	return all, true, wrong
}

// fill takes from an entry what the target does not have yet.
func (t *Target) fill(e hostEntry) {
	t.Port = cmp.Or(t.Port, e.Port)
	t.User = cmp.Or(t.User, e.User)
	t.Identity = cmp.Or(t.Identity, e.Identity)
	t.PasswordEnv = cmp.Or(t.PasswordEnv, e.PasswordEnv)
	t.SudoPasswordEnv = cmp.Or(t.SudoPasswordEnv, e.SudoPasswordEnv)
	t.Sudo = cmp.Or(t.Sudo, map[string]string{"true": "always", "false": "never"}[e.Sudo], e.Sudo)
	t.Lang = cmp.Or(t.Lang, e.Lang)
	t.Product = cmp.Or(t.Product, e.Product)
	t.InstallPath = cmp.Or(t.InstallPath, e.InstallPath)
	if t.Managed == nil {
		t.Managed = e.Managed
	}
	if t.Jump == nil && e.Jump != "" {
		t.Jump = []Jump{{Name: e.Jump}} // the way there is found when all is read
	}
	t.Labels, t.Set = below(t.Labels, e.Labels), below(t.Set, e.Set)
}

// below adds the values of low that high does not have.
func below(high, low map[string]string) map[string]string {
	if len(low) == 0 {
		return high
	}
	both := maps.Clone(low)
	maps.Copy(both, high)
	return both
}

// readGroups finds the members of each group and gives them its values. Where
// two groups of a host say different things, the one further down counts.
func (h *Hosts) readGroups(m *mistakes, top *yaml.Node, f *hostsFile) {
	order := byLine(f.Groups, top, "groups")
	slices.Reverse(order)
	for _, name := range order {
		g := f.Groups[name]
		line := lineOf(top, "groups", name)
		members := map[string]bool{}
		for _, pattern := range g.Hosts {
			names, _, wrong := pairUp(pattern)
			if !wrong.IsZero() {
				m.add(line, "groups.%s.hosts: %s", "groups.%s.hosts：%s", brief(name), wrong)
			}
			for _, n := range names {
				if !h.has(n) {
					m.add(line, "groups.%s: no host %s%s", "groups.%s：没有主机 %s%s", brief(name), brief(n), report.Meant(n, h.Names()))
				}
				members[n] = true
			}
		}
		for i := range h.hosts {
			if t := &h.hosts[i]; members[t.Name] || len(g.Match) > 0 && t.matches(g.Match) {
				members[t.Name] = true
				t.fill(g.hostEntry)
			}
		}
		h.groups[name] = members
	}
}

func (t *Target) matches(labels map[string]string) bool {
	for k, v := range labels {
		if t.Labels[k] != v {
			return false
		}
	}
	return true
}

// route gives the jumps to a target, the first to be dialled first.
func (f *hostsFile) route(m *mistakes, top *yaml.Node, t *Target) []Jump {
	var way []Jump
	seen := map[string]bool{}
	for name := t.Jump[0].Name; name != ""; {
		j, ok := f.Jumps[name]
		switch {
		case !ok:
			m.add(lineOf(top, "hosts", t.Name), "host %s: no jump %s%s", "主机 %s：没有跳板 %s%s", t.Name, brief(name), report.Meant(name, slices.Collect(maps.Keys(f.Jumps))))
			return nil
		case seen[name]:
			m.add(lineOf(top, "jumps", name), "jump %s leads back to itself", "跳板 %s 形成环路", brief(name))
			return nil
		}
		seen[name] = true
		way = append(way, Jump{name, strings.Trim(j.Address, "[]"), j.Port, j.User, j.Identity, j.PasswordEnv})
		name = j.Jump
	}
	slices.Reverse(way)
	return way
}
