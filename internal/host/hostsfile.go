package host

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

const (
	maxHostsFile = 1 << 20
	// maxTargets bounds what ranges may expand to.
	maxTargets = 10_000
)

// Target is one machine of a hosts file or an inventory, with all that the
// file says about it. What it does not say is the zero value: ~/.ssh/config
// and built-in values fill it.
type Target struct {
	Name     string // as the file calls it
	Address  string // host name or IP address to dial, never empty
	Port     int    // 0: not said
	User     string
	Identity string // private key file as written; a leading ~/ is the reader's home
	Jump     []Jump // the first is dialled first; nil: not said

	PasswordEnv     string // name of the variable that holds the password
	SudoPasswordEnv string
	Sudo            string // auto, always, never; "": not said

	Labels      map[string]string
	Lang        string
	Managed     []string // what a provider looks after: driver, firmware, cann
	Product     string
	InstallPath string
	Set         map[string]string // recipe and plan variables
}

// Jump is a machine on the way to another.
type Jump struct {
	Name        string
	Address     string
	Port        int
	User        string
	Identity    string
	PasswordEnv string
}

// Hosts is a hosts file, or an Ansible inventory, that was read.
type Hosts struct {
	// Notes name what an inventory asks for and this program cannot honour,
	// each with its line.
	Notes []report.Text

	name   string
	hosts  []Target
	at     map[string]int             // name -> index of hosts
	groups map[string]map[string]bool // group -> names of hosts
}

// LoadHosts reads a hosts file (docs/hosts-file.md) or an Ansible inventory,
// INI or YAML. Mistakes come as one *report.Problem (exit 64) with "name:line"
// for each.
func LoadHosts(name string, data []byte) (*Hosts, error) {
	m := &mistakes{file: name}
	h := &Hosts{name: name, at: map[string]int{}, groups: map[string]map[string]bool{}}
	switch hostsForm(data) {
	case "ours":
		if top := m.parseYAML(data, maxHostsFile); m.n == 0 {
			h.readOwn(m, top)
		}
	case "yaml":
		if top := m.parseYAML(data, maxHostsFile); m.n == 0 {
			h.readInventory(m, inventoryFromYAML(m, top))
		}
	default:
		h.readInventory(m, inventoryFromINI(m, data))
	}
	if m.n > 0 {
		return nil, m.err()
	}
	return h, nil
}

// hostsForm tells the three forms apart by their first words.
func hostsForm(data []byte) string {
	form := ""
	for line := range strings.Lines(string(data)) {
		key, rest, colon := strings.Cut(strings.TrimRight(line, " \t\r\n"), ":")
		switch {
		case strings.TrimSpace(line) == "" || strings.ContainsAny(line[:1], "#;"):
		case colon && slices.Contains([]string{"version", "defaults", "jumps", "hosts", "groups"}, key):
			return "ours"
		case form == "" && (strings.HasPrefix(line, "---") || line[0] == '{' || colon && (rest == "" || rest[0] == ' ') && !strings.ContainsAny(key, " [=")):
			form = "yaml"
		case form == "":
			return "ini"
		}
	}
	return cmp.Or(form, "ours")
}

func (h *Hosts) add(t Target) {
	h.at[t.Name] = len(h.hosts)
	h.hosts = append(h.hosts, t)
}

func (h *Hosts) has(name string) bool { _, ok := h.at[name]; return ok }

// Host finds a host by its name in the file.
func (h *Hosts) Host(name string) (Target, bool) {
	if i, ok := h.at[name]; ok {
		return h.hosts[i], true
	}
	return Target{}, false
}

// Names are all hosts, in the order of the file.
func (h *Hosts) Names() []string {
	names := make([]string, len(h.hosts))
	for i, t := range h.hosts {
		names[i] = t.Name
	}
	return names
}

// Groups are the names of all groups, sorted.
func (h *Hosts) Groups() []string { return slices.Sorted(maps.Keys(h.groups)) }

// Select gives the hosts of a group ("" and "all": every host) whose labels
// have every KEY=VALUE of match, in the order of the file. Nobody left is a
// *report.Problem (exit 64), as is a group that does not exist.
func (h *Hosts) Select(group string, match ...string) ([]Target, error) {
	members, ok := h.groups[group]
	if !ok && group != "" && group != "all" {
		return nil, h.refuse(report.T("no group %s in %s%s", "%s 不在 %s 的分组中%s", group, h.name, report.Meant(group, h.Groups())))
	}
	want := map[string]string{}
	for _, kv := range match {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, h.refuse(report.T("want KEY=VALUE to match labels, got %s", "标签匹配应为 KEY=VALUE，实为 %s", kv))
		}
		want[k] = v
	}
	var chosen []Target
	for _, t := range h.hosts {
		if (!ok || members[t.Name]) && t.matches(want) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		return nil, h.refuse(report.T("no host of %s is chosen", "%s 中没有选中任何主机", h.name))
	}
	return chosen, nil
}

func (h *Hosts) refuse(what report.Text) error {
	return &report.Problem{
		What: what,
		Do:   report.T("name a group of the file, or labels that its hosts have", "指定文件中的分组，或主机具有的标签"),
		Exit: report.ExitUsage,
	}
}
