package host

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// inventory is what INI and YAML inventories have in common.
type inventory struct {
	hosts  map[string]vars
	order  []string // hosts in the order of the file
	groups map[string]*inventoryGroup
}

type inventoryGroup struct {
	line     int
	hosts    []string
	children []string
	vars     vars
}

// vars are variables with the line each stands on.
type vars map[string]struct {
	value string
	line  int
}

func (v vars) set(key, value string, line int) {
	v[key] = struct {
		value string
		line  int
	}{value, line}
}

func newInventory() *inventory {
	return &inventory{hosts: map[string]vars{}, groups: map[string]*inventoryGroup{}}
}

func (v *inventory) group(name string, line int) *inventoryGroup {
	g := v.groups[name]
	if g == nil {
		g = &inventoryGroup{line: line, vars: vars{}}
		v.groups[name] = g
	}
	return g
}

// addHosts adds the hosts a pattern names to a group and gives them variables.
func (v *inventory) addHosts(m *mistakes, g *inventoryGroup, pattern string, line int, with vars) {
	names, wrong := ansibleRange(pattern)
	if !wrong.IsZero() {
		m.add(line, "host %q: %s", "主机 %q：%s", brief(pattern), wrong)
		return
	}
	for _, name := range names {
		switch {
		case !plainName(strings.NewReplacer(":", "", "[", "", "]", "").Replace(name)):
			m.add(line, "host %q: want letters, digits, dots, hyphens and underscores", "主机 %q：名称应由字母、数字、点、连字符和下划线组成", brief(name))
			return
		case v.hosts[name] == nil && len(v.order) >= maxTargets:
			m.add(line, "over %d hosts", "主机超过 %d 台", maxTargets)
			return
		case v.hosts[name] == nil:
			v.hosts[name] = vars{}
			v.order = append(v.order, name)
		}
		maps.Copy(v.hosts[name], with)
		g.hosts = append(g.hosts, name)
	}
}

// ansibleRange expands [01:50], [1:9:2] and [a:f], more than one in a name.
func ansibleRange(s string) (all []string, wrong report.Text) {
	at := regexp.MustCompile(`\[([0-9]{1,9}|[a-zA-Z]):([0-9]{1,9}|[a-zA-Z])(?::([0-9]{1,9}))?\]`).FindStringSubmatchIndex(s)
	if at == nil {
		return []string{s}, wrong
	}
	lo, hi, step := s[at[2]:at[3]], s[at[4]:at[5]], 1
	if at[6] >= 0 {
		step, _ = strconv.Atoi(s[at[6]:at[7]])
	}
	first, errFirst := strconv.Atoi(lo)
	last, errLast := strconv.Atoi(hi)
	letters := errFirst != nil && errLast != nil
	if letters {
		first, last = int(lo[0]), int(hi[0])
	}
	if (errFirst == nil) != (errLast == nil) || step < 1 || last < first || (last-first)/step >= maxTargets {
		return nil, report.T("want a range that rises by less than %d, got %s", "范围应递增且小于 %d 个，实为 %s", maxTargets, s[at[0]:at[1]])
	}
	width := 0
	if lo[0] == '0' {
		width = len(lo)
	}
	tails, wrong := ansibleRange(s[at[1]:])
	if !wrong.IsZero() {
		return nil, wrong
	}
	if ((last-first)/step+1)*len(tails) > maxTargets {
		return nil, report.T("ranges name over %d hosts", "范围展开超过 %d 台主机", maxTargets)
	}
	for n := first; n <= last; n += step {
		middle := fmt.Sprintf("%0*d", width, n)
		if letters {
			middle = string(rune(n))
		}
		for _, tail := range tails {
			all = append(all, s[:at[0]]+middle+tail)
		}
	}
	return all, wrong
}

// inventoryFromINI reads [group], [group:children] and [group:vars].
func inventoryFromINI(m *mistakes, data []byte) *inventory {
	v := newInventory()
	if len(data) > maxHostsFile {
		m.add(0, "is over %d bytes", "超过 %d 字节", maxHostsFile)
		return v
	}
	name, kind, n := "ungrouped", "", 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "$ANSIBLE_VAULT"):
			m.add(n, "a vaulted file cannot be read: decrypt it, and name variables for its passwords", "无法读取 vault 加密的文件：先解密，并用变量名代替其中的密码")
			return v
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			head, ok := strings.CutSuffix(line, "]")
			if i := strings.Index(line, "] #"); !ok && i > 0 {
				head, ok = line[:i], true
			}
			name, kind, _ = strings.Cut(head[1:], ":")
			if !ok || name == "" || !slices.Contains([]string{"", "children", "vars"}, kind) {
				m.add(n, "want [group], [group:children] or [group:vars], got %q", "应为 [group]、[group:children] 或 [group:vars]，实为 %q", brief(line))
				return v
			}
			v.group(name, n)
		default:
			v.iniLine(m, v.group(name, n), kind, line, n)
		}
	}
	return v
}

func (v *inventory) iniLine(m *mistakes, g *inventoryGroup, kind, line string, n int) {
	if kind == "vars" {
		key, value, ok := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			m.add(n, "want key=value, got %q", "应为 key=value，实为 %q", brief(line))
			return
		}
		if value = strings.TrimSpace(value); len(value) > 1 && strings.ContainsRune(`'"`, rune(value[0])) && value[0] == value[len(value)-1] {
			value = value[1 : len(value)-1]
		}
		g.vars.set(key, value, n)
		return
	}
	words, ok := shellWords(line)
	if !ok {
		m.add(n, "a quote is not closed", "引号未闭合")
		return
	}
	if at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") }); at > 0 {
		words = words[:at]
	}
	if kind == "children" {
		g.children = append(g.children, words[0])
		return
	}
	with := vars{}
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			m.add(n, "want key=value, got %q", "应为 key=value，实为 %q", brief(w))
			return
		}
		with.set(key, value, n)
	}
	host := words[0]
	if m := regexp.MustCompile(`^((?:[^:\[]|\[[^\]]*\])+):(\d+)$`).FindStringSubmatch(host); m != nil {
		host = m[1]
		with.set("ansible_port", m[2], n)
	}
	v.addHosts(m, g, host, n, with)
}

// inventoryFromYAML reads groups of hosts, children and vars.
func inventoryFromYAML(m *mistakes, top *yaml.Node) *inventory {
	v := newInventory()
	if top == nil || top.Kind != yaml.MappingNode {
		m.add(1, "want groups of hosts", "应为主机分组")
		return v
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		v.yamlGroup(m, top.Content[i], top.Content[i+1])
	}
	return v
}

func (v *inventory) yamlGroup(m *mistakes, key, n *yaml.Node) {
	g := v.group(key.Value, key.Line)
	entries(m, n, func(part, body *yaml.Node) {
		switch part.Value {
		case "hosts":
			entries(m, body, func(host, with *yaml.Node) {
				v.addHosts(m, g, host.Value, host.Line, yamlVars(m, with))
			})
		case "children":
			entries(m, body, func(child, below *yaml.Node) {
				g.children = append(g.children, child.Value)
				v.yamlGroup(m, child, below)
			})
		case "vars":
			maps.Copy(g.vars, yamlVars(m, body))
		default:
			m.add(part.Line, "unknown key %s%s", "未知的键 %s%s", brief(part.Value), report.Meant(part.Value, []string{"hosts", "children", "vars"}))
		}
	})
}

// entries walks a mapping that may be left empty.
func entries(m *mistakes, n *yaml.Node, each func(key, value *yaml.Node)) {
	switch {
	case isNull(n):
	case n.Kind != yaml.MappingNode:
		m.add(n.Line, "want a mapping, got %s", "应为映射，实为%s", gotKind(n))
	default:
		for i := 0; i+1 < len(n.Content); i += 2 {
			each(n.Content[i], n.Content[i+1])
		}
	}
}

// yamlVars keeps single values; lists and mappings say nothing about a login.
func yamlVars(m *mistakes, n *yaml.Node) vars {
	with := vars{}
	entries(m, n, func(key, value *yaml.Node) {
		if value.Kind == yaml.ScalarNode && !isNull(value) {
			with.set(key.Value, value.Value, value.Line)
		}
	})
	return with
}
