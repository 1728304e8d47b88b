package host

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// readInventory turns an inventory into hosts and groups.
func (h *Hosts) readInventory(m *mistakes, v *inventory) {
	if m.n > 0 {
		return
	}
	if len(v.order) == 0 {
		m.add(0, "names no host", "没有列出任何主机")
		return
	}
	depth := v.depths(m)
	if m.n > 0 {
		return
	}
	order := slices.SortedFunc(maps.Keys(v.groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(a, b))
	})
	of := map[string][]string{} // host -> its groups, the least specific first
	for _, name := range order {
		h.groups[name] = map[string]bool{}
		v.members(name, h.groups[name])
		for member := range h.groups[name] {
			of[member] = append(of[member], name)
		}
	}
	noted := map[string]bool{}
	for _, name := range v.order {
		all := vars{}
		if g := v.groups["all"]; g != nil {
			maps.Copy(all, g.vars)
		}
		for _, g := range of[name] {
			maps.Copy(all, v.groups[g].vars)
		}
		maps.Copy(all, v.hosts[name])
		h.add(h.fromVars(m, name, all, noted))
	}
}

// depths gives how far below the top each group stands; a circle is a mistake.
func (v *inventory) depths(m *mistakes) map[string]int {
	depth := map[string]int{}
	var down func(name string, d int, above []string)
	down = func(name string, d int, above []string) {
		if slices.Contains(above, name) {
			m.add(v.groups[name].line, "group %s is among its own children", "分组 %s 是自身的子分组", brief(name))
			return
		}
		if old, seen := depth[name]; seen && old >= d {
			return
		}
		depth[name] = d
		for _, child := range v.groups[name].children {
			if v.groups[child] == nil {
				m.add(v.groups[name].line, "group %s: no group %s%s", "分组 %s：没有分组 %s%s", brief(name), brief(child), report.Meant(child, slices.Collect(maps.Keys(v.groups))))
			} else if m.n < toldMistakes && len(above) < maxDepth {
				down(child, d+1, append(slices.Clone(above), name))
			}
		}
	}
	for name := range v.groups {
		d := 1
		if name == "all" {
			d = 0
		}
		down(name, d, nil)
	}
	return depth
}

func (v *inventory) members(name string, into map[string]bool) {
	for _, host := range v.groups[name].hosts {
		into[host] = true
	}
	for _, child := range v.groups[name].children {
		v.members(child, into)
	}
}

// note names once what cannot be honoured.
func (h *Hosts) note(noted map[string]bool, line int, en, zh string, args ...any) {
	t := report.T(en, zh, args...)
	where := fmt.Sprintf("%s:%d: ", h.name, line)
	if t = (report.Text{En: where + t.En, Zh: where + t.Zh}); !noted[t.En] {
		noted[t.En] = true
		h.Notes = append(h.Notes, t)
	}
}

// lookup finds the variable a password is looked up from.
func lookup(value string) string {
	m := regexp.MustCompile(`^\{\{\s*(?:lookup|query)\(\s*['"](?:ansible\.builtin\.)?env['"]\s*,\s*['"](\w+)['"]\s*\)\s*\}\}$`).FindStringSubmatch(value)
	if m == nil {
		return ""
	}
	return m[1]
}

// fromVars makes a target of the variables of a host. What is no variable of
// Ansible's becomes a label.
func (h *Hosts) fromVars(m *mistakes, name string, all vars, noted map[string]bool) Target {
	t := Target{Name: name, Address: name}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		v := all[key]
		template := strings.Contains(v.value, "{{")
		switch {
		case strings.HasPrefix(v.value, "$ANSIBLE_VAULT"):
			m.add(v.line, "%s: a vaulted value cannot be read: name a variable in a hosts file", "%s：无法读取 vault 加密的值：在主机清单中指定变量名", key)
		case slices.Contains([]string{"ansible_password", "ansible_ssh_pass", "ansible_ssh_password"}, key):
			t.PasswordEnv = passwordFrom(m, key, v.value, v.line)
		case slices.Contains([]string{"ansible_become_password", "ansible_become_pass", "ansible_sudo_pass"}, key):
			t.SudoPasswordEnv = passwordFrom(m, key, v.value, v.line)
		case template && strings.HasPrefix(key, "ansible_"):
			m.add(v.line, "%s: a template cannot be read: write the value out", "%s：无法解析模板：写出具体的值", key)
		case strings.HasPrefix(key, "ansible_"):
			h.honour(m, &t, key, v.value, v.line, noted)
		case template:
			h.note(noted, v.line, "%s is a template and is left out", "%s 是模板，已忽略", key)
		default:
			t.Labels = below(t.Labels, map[string]string{key: v.value})
		}
	}
	return t
}

func passwordFrom(m *mistakes, key, value string, line int) string {
	name := lookup(value)
	if name == "" {
		m.add(line, "%s: passwords do not belong in an inventory: look it up from the environment, as {{ lookup('env', 'NAME') }}",
			"%s：密码不应写在清单中：用 {{ lookup('env', 'NAME') }} 从环境变量读取", key)
	}
	return name
}

// honour takes one ansible_ variable into the target.
func (h *Hosts) honour(m *mistakes, t *Target, key, value string, line int, noted map[string]bool) {
	switch key {
	case "ansible_host", "ansible_ssh_host":
		if t.Address = strings.Trim(value, "[]"); t.Address == "" || strings.ContainsAny(value, " \t@/") {
			m.add(line, "%s: want a host name or an IP address, got %q", "%s：应为主机名或 IP 地址，实为 %q", key, brief(value))
		}
	case "ansible_port", "ansible_ssh_port":
		port, err := strconv.Atoi(value)
		if err != nil || port < 1 || port > 65535 {
			m.add(line, "%s: want 1 to 65535, got %q", "%s：应为 1 到 65535，实为 %q", key, brief(value))
		}
		t.Port = port
	case "ansible_user", "ansible_ssh_user":
		t.User = value
	case "ansible_ssh_private_key_file", "ansible_private_key_file":
		t.Identity = value
	case "ansible_become":
		switch strings.ToLower(value) {
		case "true", "yes", "on", "1":
			t.Sudo = "always"
		case "false", "no", "off", "0":
			t.Sudo = "never"
		default:
			m.add(line, "ansible_become: want true or false, got %q", "ansible_become：应为 true 或 false，实为 %q", brief(value))
		}
	case "ansible_ssh_common_args", "ansible_ssh_extra_args":
		h.sshArgs(m, t, key, value, line, noted)
	case "ansible_connection", "ansible_become_method", "ansible_become_user":
		usual := map[string][]string{"ansible_connection": {"ssh", "smart", "paramiko", "paramiko_ssh"}, "ansible_become_method": {"sudo"}, "ansible_become_user": {"root"}}
		if !slices.Contains(usual[key], value) {
			h.note(noted, line, "%s=%s cannot be honoured: %s is used", "无法支持 %s=%s：使用 %s", key, brief(value), usual[key][0])
		}
	default:
		h.note(noted, line, "%s cannot be honoured", "无法支持 %s", key)
	}
}

// sshArgs finds ProxyJump among the arguments of ssh and names the rest.
func (h *Hosts) sshArgs(m *mistakes, t *Target, key, value string, line int, noted map[string]bool) {
	words, ok := shellWords(value)
	if !ok {
		m.add(line, "%s: a quote is not closed", "%s：引号未闭合", key)
		return
	}
	for i := 0; i < len(words); i++ {
		option := words[i]
		if (option == "-o" || option == "-J") && i+1 < len(words) {
			i++
			option += words[i]
		}
		name, way, _ := strings.Cut(strings.TrimPrefix(option, "-o"), "=")
		if strings.HasPrefix(option, "-J") {
			name, way = "ProxyJump", option[2:]
		} else if f := strings.Fields(name); way == "" && len(f) == 2 {
			name, way = f[0], f[1]
		}
		if !strings.EqualFold(name, "ProxyJump") || way == "" {
			h.note(noted, line, "%s: %s cannot be honoured", "%s：无法支持 %s", key, brief(option))
			continue
		}
		if way == "none" {
			t.Jump = nil
			continue
		}
		t.Jump = nil
		for hop := range strings.SplitSeq(way, ",") {
			j, wrong := jumpFrom(hop)
			if !wrong.IsZero() {
				m.add(line, "%s: %s", "%s：%s", key, wrong)
				return
			}
			t.Jump = append(t.Jump, j)
		}
	}
}

// jumpFrom reads [user@]host[:port], IPv6 addresses in brackets.
func jumpFrom(hop string) (j Jump, wrong report.Text) {
	hop = strings.TrimPrefix(hop, "ssh://")
	j = Jump{Name: hop, Address: hop}
	if at := strings.LastIndexByte(hop, '@'); at >= 0 {
		j.User, j.Address = hop[:at], hop[at+1:]
	}
	if at := strings.LastIndexByte(j.Address, ':'); at >= 0 && (strings.Count(j.Address, ":") == 1 || strings.HasSuffix(j.Address[:at], "]")) {
		port, err := strconv.Atoi(j.Address[at+1:])
		if err != nil || port < 1 || port > 65535 {
			return j, report.T("want a port of 1 to 65535 in %q", "端口应为 1 到 65535，实为 %q", brief(hop))
		}
		j.Port, j.Address = port, j.Address[:at]
	}
	if j.Address = strings.Trim(j.Address, "[]"); j.Address == "" || strings.ContainsAny(j.User, ":") {
		return j, report.T("want [user@]host[:port], got %q", "应为 [user@]host[:port]，实为 %q", brief(hop))
	}
	return j, wrong
}
