package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var ctrJudges = map[string]judge{
	"ctr.runtime":        {"good:list plain:list", ctrRuntime},
	"ctr.ascend_runtime": {"key:word", ctrAscendRuntime},
	"ctr.image":          {"chips:dict", ctrImage},
	"ctr.mounts":         {"needed:list useful:list", ctrMounts},
	"ctr.nodes":          {"control:word", ctrNodes},
	"ctr.userns":         {"open_mode:word", ctrUserNS},
	"ctr.seccomp":        {"sandboxes:list", ctrSandbox},
}

func ctrRuntime(l *look) verdict {
	if v, stop := blank(l.Tools); stop {
		return v
	}
	wanted := either(l.list("good"))
	for _, t := range l.list("good") {
		if l.tool(t) == yes {
			return pass(l.Tools.Source, raw(t))
		}
	}
	if _, unasked := l.lacking(l.list("good")); len(unasked) > 0 {
		return unknown(l.Tools.Source, notAsked(unasked))
	}
	for _, t := range l.list("plain") {
		if l.tool(t) == yes {
			return warn(l.Tools.Source, raw(t), wanted)
		}
	}
	return fail(l.Tools.Source, orNone(""), wanted)
}

func ctrAscendRuntime(l *look) verdict {
	if v, stop := blank(l.Docker); stop {
		return v
	}
	key := l.word("key")
	name := strings.Split(key, ".")[1]
	where, there := l.Docker.Value.Runtimes[name]
	relies := l.job.uses("container_recipe") || l.env("ASCEND_VISIBLE_DEVICES") != ""
	switch {
	case !there && relies:
		return warn(l.Docker.Source, noSuch(key), raw(key))
	case !there:
		return skip(l.Docker.Source, report.T("no %s, and nothing relies on it", "没有 %s，也不被使用", key))
	}
	lost := slices.Contains(l.Docker.Value.Missing, name) || slices.Contains(l.Docker.Value.Missing, where)
	return ifElse(!lost, report.Fail, l.Docker.Source, raw(key+":", where), report.T("a file that exists", "存在的文件"))
}

func ctrMounts(l *look) verdict {
	if v, stop := blank(l.Paths); stop {
		return v
	}
	lacks := func(paths []string) (missing []string) {
		for _, p := range paths {
			there := l.Paths.Value[p]
			if !strings.HasPrefix(p, "/") {
				there = l.SMIWhere.Known() && l.SMIWhere.Value != ""
			}
			if !there {
				missing = append(missing, p)
			}
		}
		return missing
	}
	needed, useful := lacks(l.list("needed")), lacks(l.list("useful"))
	mounted := report.T("mounted", "已挂载")
	switch {
	case len(needed) > 0:
		return fail(l.Paths.Source, without(needed...), mounted)
	case len(useful) > 0:
		return warn(l.Paths.Source, without(useful...), mounted)
	}
	return pass(l.Paths.Source, allThere())
}

func ctrNodes(l *look) verdict {
	if v, stop := blank(l.Nodes); stop {
		return v
	}
	missing, cards := l.noManager(), len(l.davincis())
	seen := report.T("%d cards", "%d 张卡", cards)
	switch {
	case len(missing) > 0:
		return fail(l.Nodes.Source, without(missing...), report.T("the control nodes", "控制设备节点"))
	case cards == 0:
		return fail(l.Nodes.Source, report.T("no card", "没有卡"), report.T("at least one /dev/davinciN", "至少一个 /dev/davinciN"))
	case cards < l.job.want():
		return warn(l.Nodes.Source, seen, raw(fmt.Sprint(l.job.want())))
	}
	return pass(l.Nodes.Source, seen)
}

func ctrUserNS(l *look) verdict {
	if v, stop := l.ready(); stop {
		return v
	}
	id, n := l.Identity.Value, l.used()[0]
	gid := l.gid(n)
	in := func(g facts.Group) bool { return g.GID == gid }
	seen, wanted := report.T("%s, session uid %d gid %d", "%s，当前会话 uid %d gid %d", shownNode(n), id.UID, id.GID), raw("gid", fmt.Sprint(gid))
	switch {
	case id.UID == 0 || n.Mode == l.word("open_mode") || id.GID == gid || slices.ContainsFunc(id.Groups, in):
		return pass(l.Identity.Source, seen)
	case gid < 0:
		return unknown(l.Nodes.Source, seen)
	case l.Accounts.Known() && !slices.ContainsFunc(l.Accounts.Value.Groups, in) && !l.NPUInfo.Known():
		// Ids of another user namespace: only a try tells.
		return warn(l.Identity.Source, seen, wanted)
	}
	return fail(l.Identity.Source, seen, wanted)
}

// ctrSandbox: only a refusal that nodes and rights do not explain is laid at
// the sandbox's door.
func ctrSandbox(l *look) verdict {
	if v, stop := blank(l.Sandbox); stop {
		return v
	}
	if l.Sandbox.Absent() || l.Sandbox.Value == "" {
		return unknown(l.Sandbox.Source, report.T("not told", "主机未提供"))
	}
	if !slices.Contains(l.list("sandboxes"), l.Sandbox.Value) {
		return pass(l.Sandbox.Source, raw(l.Sandbox.Value))
	}
	w, _ := l.jobUser()
	_, denied := l.noAccess(w)
	f := l.NPUInfo.Value.Failure
	if f != nil && f.Error == facts.SmiDCMIInit && len(l.noManager()) == 0 && len(l.davincis()) > 0 && !denied {
		return fail(l.Sandbox.Source, raw(l.Sandbox.Value+":", f.Line), raw("runc"))
	}
	return warn(l.Sandbox.Source, raw(l.Sandbox.Value), raw("runc"))
}
