package facts

import (
	"slices"
	"strings"
	"time"
)

// Block gives what is known in the shape of the `facts:` block of a host
// description (docs/recording.md): plain values under the same keys. A key that
// is not there was not learnt.
func (f *Facts) Block() map[string]any {
	b := block{}
	keep(b, "arch", f.Arch)
	keep(b, "kernel", f.Kernel)
	keep(b, "page_size", f.PageSize)
	keep(b, "glibc", f.Glibc)
	keep(b, "virt", f.Virt)
	keep(b, "sandbox", f.Sandbox)
	keep(b, "torch_cxx11_abi", f.TorchABI)
	keep(b, "python_packages", f.Packages)
	keep(b, "reachable", f.Reachable)
	b.people(f)
	b.limits(f)
	b.mounts(f)
	b.tools(f)
	if f.Python.Known() {
		b["python"], b["python_stdlib"] = f.Python.Value.Version, f.Python.Value.Modules
	}
	if f.Boot.Known() {
		b["boot_time"] = f.Boot.Value.UTC().Format(time.RFC3339)
	}
	if h := f.Hostname; h.Known() {
		b["hostname"] = map[string]any{"name": h.Value.Name, "resolves": h.Value.Resolves}
	}
	if f.Listening.Known() {
		ports := []int{}
		for _, p := range f.Listening.Value {
			ports = append(ports, p.Port)
		}
		b["listening"] = ports
	}
	if f.Locks.Known() {
		b["pkg_lock"] = "free"
		if len(f.Locks.Value) > 0 {
			b["pkg_lock"] = f.Locks.Value[0].Path
		}
	}
	return b
}

// Lookup finds one value of Block by a path of keys: "identity.uid",
// "mounts./tmp.avail_kb". Lists are entered by the path or name of an element.
func (f *Facts) Lookup(at ...string) (any, bool) {
	var v any = map[string]any(f.Block())
	for _, key := range at {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case map[string]string:
			s, ok := x[key]
			if !ok {
				return nil, false
			}
			v = s
		case map[string]bool:
			s, ok := x[key]
			if !ok {
				return nil, false
			}
			v = s
		case []map[string]any:
			i := slices.IndexFunc(x, func(m map[string]any) bool { return m["path"] == key || m["name"] == key })
			if i < 0 {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, v != nil
}

type block map[string]any

func keep[T any](b block, key string, f Fact[T]) {
	if f.Known() {
		b[key] = f.Value
	}
}

func (b block) people(f *Facts) {
	if !f.Identity.Known() {
		return
	}
	id := f.Identity.Value
	groups := []map[string]any{}
	for _, g := range id.Groups {
		groups = append(groups, map[string]any{"name": g.Name, "gid": g.GID})
	}
	b["identity"] = map[string]any{"uid": id.UID, "gid": id.GID, "user": id.User, "home": id.Home, "groups": groups}
}

func (b block) limits(f *Facts) {
	if !f.Limits.Known() {
		return
	}
	m := map[string]any{}
	for key, v := range map[string]Limit{"nofile": f.Limits.Value.NoFile, "memlock_kb": f.Limits.Value.MemlockKB, "core": f.Limits.Value.Core} {
		if v.Known() {
			m[key] = v.String()
		}
	}
	b["ulimits"] = m
}

// mounts are the file systems behind the paths that were asked, each once.
func (b block) mounts(f *Facts) {
	out := []map[string]any{}
	for _, asked := range sortedKeys(f.Disks) {
		d := f.Disks[asked]
		at := d.Value.Mount
		if at == "" {
			at = asked
		}
		if !d.Known() || slices.ContainsFunc(out, func(m map[string]any) bool { return m["path"] == at }) {
			continue
		}
		m := map[string]any{"path": at, "total_kb": d.Value.TotalKB, "used_kb": d.Value.UsedKB, "avail_kb": d.Value.AvailKB}
		if d.Value.Inodes > 0 {
			m["inodes"], m["ifree"] = d.Value.Inodes, d.Value.IFree
		}
		if d.Value.ReadOnly {
			m["ro"] = true
		}
		if d.Value.NoExec {
			m["noexec"] = true
		}
		out = append(out, m)
	}
	if len(out) > 0 {
		b["mounts"] = out
	}
}

func (b block) tools(f *Facts) {
	if !f.Tools.Known() {
		return
	}
	present, absent := []string{}, []string{}
	for _, name := range sortedKeys(f.Tools.Value) {
		if f.Tools.Value[name] != "" {
			present = append(present, name)
		} else {
			absent = append(absent, name)
		}
	}
	b["tools_present"], b["tools_absent"] = present, absent
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
