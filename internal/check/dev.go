package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var devJudges = map[string]judge{
	"dev.manager":         {"nodes:lists", devManager},
	"dev.nodes":           {"skip_rows:list", devNodes},
	"dev.perms":           {"", devPerms},
	"dev.user":            {"user:word", devUser},
	"dev.uid1000":         {"id:number user:word", devUID1000},
	"dev.group_effective": {"open_mode:word", devGroup},
	"dev.exclusive":       {"exit:number text:word", devExclusive},
	"dev.vnpu":            {"first_id:number guest_mode:word", devVNPU},
}

// noManager gives the control nodes that the generation needs and the host
// lacks; "a|b" is met by either.
func (l *look) noManager() (missing []string) {
	lists := l.of("dev.manager").lists("nodes")
	want, ok := lists[l.chip()]
	if !ok {
		want = lists["default"]
	}
	for _, w := range want {
		if !slices.ContainsFunc(strings.Split(w, "|"), func(n string) bool { return l.node("/dev/" + n) }) {
			missing = append(missing, w)
		}
	}
	return missing
}

func devManager(l *look) verdict {
	if v, stop := blank(l.Nodes); stop {
		return v
	}
	missing := l.noManager()
	if len(missing) == 0 {
		return pass(l.Nodes.Source, allThere())
	}
	return fail(l.Nodes.Source, without(missing...), report.T("no node missing", "设备节点齐全"))
}

func devNodes(l *look) verdict {
	if v, stop := blank(l.Nodes); stop {
		return v
	}
	got := len(l.davincis())
	want, source := 1, l.Nodes.Source
	container, vm := l.virt()
	if chips := len(l.mapped()); chips > 0 {
		want, source = chips, l.NPUMap.Source
	} else if n, ok := l.promised(); ok && container == no && vm == no && n > 0 {
		want, source = n, l.PCI.Source
	}
	want = max(want, l.job.want())
	seen, wanted := report.T("%d nodes", "%d 个设备节点", got), report.T("%d (%s)", "%d（%s）", want, source)
	switch {
	case got == 0:
		return fail(l.Nodes.Source, seen, wanted)
	case got < want:
		return warn(l.Nodes.Source, seen, wanted)
	}
	return pass(l.Nodes.Source, seen)
}

// used gives the nodes that a job opens: those of chips and the manager.
func (l *look) used() (out []facts.Node) {
	for _, n := range l.Nodes.Value {
		if strings.HasPrefix(n.Path, "/dev/davinci") {
			out = append(out, n)
		}
	}
	return out
}

// who is the user of the job: numbers, because they decide inside containers.
type who struct {
	name   string
	uid    int
	groups []int
}

// jobUser gives the login, or the account that the target names; false when
// the host does not have it.
func (l *look) jobUser() (who, bool) {
	id := l.Identity.Value
	if l.job.User == "" || l.job.User == id.User {
		w := who{id.User, id.UID, []int{id.GID}}
		for _, g := range id.Groups {
			w.groups = append(w.groups, g.GID)
		}
		return w, true
	}
	for _, u := range l.Accounts.Value.Users {
		if u.Name != l.job.User {
			continue
		}
		w := who{u.Name, u.UID, []int{u.GID}}
		for _, g := range l.Accounts.Value.Groups {
			if slices.Contains(g.Members, u.Name) {
				w.groups = append(w.groups, g.GID)
			}
		}
		return w, true
	}
	return who{}, false
}

// gid and uid give the numbers of a node's owner; -1 when neither the node nor
// the accounts tell.
func (l *look) gid(n facts.Node) int {
	if n.GID >= 0 {
		return n.GID
	}
	for _, g := range l.Accounts.Value.Groups {
		if g.Name == n.Group {
			return g.GID
		}
	}
	return orMinus(n.Group)
}

func (l *look) uid(n facts.Node) int {
	if n.UID >= 0 {
		return n.UID
	}
	for _, u := range l.Accounts.Value.Users {
		if u.Name == n.Owner {
			return u.UID
		}
	}
	return orMinus(n.Owner)
}

func orMinus(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

const readWrite = 6 // of the three permission bits

// mayOpen asks the mode as the kernel does: the first class that fits decides.
func (l *look) mayOpen(w who, n facts.Node) bool {
	mode, err := strconv.ParseUint(n.Mode, 8, 32)
	switch {
	case w.uid == 0:
		return true
	case err != nil:
		return false
	case l.uid(n) == w.uid:
		mode >>= 6
	case slices.Contains(w.groups, l.gid(n)):
		mode >>= 3
	}
	return mode&readWrite == readWrite
}

// noAccess gives the first node that the user may not open.
func (l *look) noAccess(w who) (facts.Node, bool) {
	for _, n := range l.used() {
		if !l.mayOpen(w, n) {
			return n, true
		}
	}
	return facts.Node{}, false
}

func noNode() report.Text { return report.T("no node to look at", "没有可查看的设备节点") }

func noUser(name string) report.Text { return report.T("no user %s", "没有用户 %s", name) }

func shownNode(n facts.Node) string {
	return fmt.Sprintf("%s %s %s:%s", n.Path, n.Mode, n.Owner, n.Group)
}

// ready is the verdict when there is nothing to look at.
func (l *look) ready() (verdict, bool) {
	if v, stop := blank(l.Nodes); stop {
		return v, true
	}
	if len(l.used()) == 0 {
		return unknown(l.Nodes.Source, noNode()), true
	}
	return blank(l.Identity)
}

func devPerms(l *look) verdict {
	if v, stop := l.ready(); stop {
		return v
	}
	w, ok := l.jobUser()
	if !ok {
		if v, stop := blank(l.Accounts); stop {
			return v
		}
		return warn(l.Accounts.Source, noUser(l.job.User), raw(l.job.User))
	}
	if n, denied := l.noAccess(w); denied {
		return fail(l.Nodes.Source, report.T("%s, not for %s", "%s，%s 无权读写", shownNode(n), w.name), report.T("read and write for %s", "%s 可读写", w.name))
	}
	return pass(l.Nodes.Source, forUser(l.used()[0], w.name))
}

func forUser(n facts.Node, name string) report.Text {
	return report.T("%s for %s", "%s，%s 可读写", shownNode(n), name)
}

func devUser(l *look) verdict {
	if v, stop := blank(l.Accounts); stop {
		return v
	}
	name := l.word("user")
	if l.Install.Value.User != "" {
		name = l.Install.Value.User
	}
	if slices.ContainsFunc(l.Accounts.Value.Users, func(u facts.User) bool { return u.Name == name }) {
		return pass(l.Accounts.Source, raw(name))
	}
	bad := report.Warn
	if l.job.installs("driver") {
		bad = report.Fail
	}
	return say(bad, l.Accounts.Source, noUser(name), raw(name))
}

func devUID1000(l *look) verdict {
	if v, stop := blank(l.Accounts); stop {
		return v
	}
	id, name := int(l.number("id")), l.word("user")
	for _, u := range l.Accounts.Value.Users {
		if u.UID == id && u.Name != name {
			return warn(l.Accounts.Source, report.T("uid %d is %s", "uid %d 属于 %s", id, u.Name), raw(name))
		}
	}
	for _, g := range l.Accounts.Value.Groups {
		if g.GID == id && g.Name != name {
			return warn(l.Accounts.Source, report.T("gid %d is %s", "gid %d 属于 %s", id, g.Name), raw(name))
		}
	}
	return pass(l.Accounts.Source, report.T("%d is free or %s", "%d 空闲或属于 %s", id, name))
}

func devGroup(l *look) verdict {
	if v, stop := l.ready(); stop {
		return v
	}
	id, n := l.Identity.Value, l.used()[0]
	gid := l.gid(n)
	in := func(g facts.Group) bool { return g.GID == gid }
	switch {
	case id.UID == 0 || n.Mode == l.word("open_mode") || id.GID == gid || slices.ContainsFunc(id.Groups, in):
		return pass(l.Identity.Source, forUser(n, id.User))
	case slices.ContainsFunc(l.Accounts.Value.Groups, func(g facts.Group) bool { return in(g) && slices.Contains(g.Members, id.User) }):
		return warn(l.Identity.Source, report.T("%s is in %s, this session is not", "%s 属于 %s 组，当前会话不在该组", id.User, n.Group), raw(n.Group))
	case unread(l.Accounts):
		return unknown(l.Accounts.Source, report.T("members of %s not known", "%s 组的成员未知", n.Group))
	}
	return fail(l.Identity.Source, report.T("%s is not in %s", "%s 不属于 %s 组", id.User, n.Group), raw(n.Group))
}

func devExclusive(l *look) verdict {
	f := l.table()
	if rows(f) > 0 {
		return pass(f.Source, report.T("npu-smi answered", "npu-smi 已应答"))
	}
	if s := f.Value; f.Known() && (s.Exit != nil && *s.Exit == int(l.number("exit")) || s.Failure != nil && strings.Contains(s.Failure.Line, l.word("text"))) {
		return fail(f.Source, note(f), report.T("no other container", "没有其他容器占用"))
	}
	return unknown(f.Source, note(f))
}

func devVNPU(l *look) verdict {
	if v, stop := blank(l.Nodes); stop {
		return v
	}
	if len(l.used()) == 0 {
		return unknown(l.Nodes.Source, noNode())
	}
	whole := report.T("whole chips", "整个芯片")
	for _, n := range l.Nodes.Value {
		k, err := strconv.Atoi(strings.TrimPrefix(n.Path, "/dev/davinci"))
		if strings.HasPrefix(n.Path, "/dev/vdavinci") || err == nil && float64(k) >= l.number("first_id") {
			return warn(l.Nodes.Source, raw(n.Path), whole)
		}
	}
	return ifElse(l.Install.Value.Mode == "" || l.Install.Value.Mode != l.word("guest_mode"), report.Warn, l.Install.Source,
		report.T("Driver_Install_Mode=%s", "Driver_Install_Mode=%s", orNone(l.Install.Value.Mode)), whole)
}
