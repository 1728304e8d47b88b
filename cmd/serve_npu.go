package cmd

import (
	"cmp"
	"context"
	secret "crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

// stand is what a model on devices stands on: what was found on this host, the
// devices it may use, and their locks.
type stand struct {
	setup   cann.Setup // environment that the CANN of this host needs; empty: as it is
	runtime string     // version of the component runtime, "" = not known
	facts   *facts.Facts
	all     facts.Fact[[]facts.Device] // as the runtime counts them
	total   int                        // devices of the host, visible or not
	devices []int
	layout  engine.Layout
	locks   *engine.Locks
	mark    string // of our processes
}

// survey looks at this host, chooses the devices and locks them. The caller
// closes the locks.
func (s *session) survey(ctx context.Context, o serveOptions, what string) (*stand, error) {
	st := &stand{mark: secret.Text()}
	set, err := facts.ParseDevices(first(o.device, "0"))
	if err != nil {
		return nil, err
	}
	explicit := first(o.aclLib, s.app.Getenv("ASCENDCTL_ACL_LIB")) != ""
	// A library that somebody names comes with an environment that he made.
	if !explicit || set.Free {
		_, k, err := s.setupOf(ctx, targetFlags{hosts: []string{"local"}, parallel: 1, sudo: "never"}, "", false)
		if k.facts == nil {
			return nil, err
		}
		if st.facts = k.facts; err == nil && !explicit { // without any CANN the worker says what is missing
			st.setup, st.runtime = k.Setup, k.tree.Components["runtime"].Version
		}
	}
	if st.facts != nil {
		st.all = st.facts.Devices()
		st.total = len(st.all.Value)
	}
	if list, set := environment(s.app.Environ)[visible]; set {
		st.all.Value = within(visibleIDs(list), st.all.Value)
	}
	if err := st.choose(o, set); err != nil {
		return nil, err
	}
	st.layout = engine.Shape(st.board(o))
	switch n := len(st.devices); {
	case st.layout.Single && n > 1:
		return nil, usage(report.T("one process serves one device, %d were named", "单进程只使用一个设备，实际指定了 %d 个", n), st.layout.Why,
			report.T("name one with --device", "用 --device 指定一个"), "")
	case st.layout.Single && o.instances > 1:
		return nil, usage(report.T("one process runs one instance of a model, not %d", "单进程只运行一个实例，不能运行 %d 个", o.instances), st.layout.Why,
			report.T("leave out --instances, and --single-process where it was given", "不使用 --instances；若指定了 --single-process，将其去掉"), "")
	}
	dirs := engine.LockDirs(os.Geteuid() == 0, s.app.Getenv("XDG_RUNTIME_DIR"))
	if o.lockDir != "" {
		dirs = []string{o.lockDir}
	}
	holder := engine.Holder{What: what, Since: s.app.Now(), Mark: st.mark}
	if st.locks, err = engine.LockDevices(engine.LockOptions{Dirs: dirs, Devices: st.physical(), Share: o.share, Holder: holder}); err != nil {
		return nil, err
	}
	for _, dead := range st.locks.Stale {
		st.bury(dead.Mark, !o.share)
	}
	return st, nil
}

// bury ends what a front that was killed may have left. Where devices are shared
// it may live in another container that has /tmp in common with us.
func (st *stand) bury(mark string, alone bool) {
	if len(mark) != len(st.mark) || strings.Trim(mark, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return // written by somebody else
	}
	engine.Sweep(mark)
	if alone {
		for _, dir := range runDirs(mark) {
			_ = os.RemoveAll(dir) // not there, mostly
		}
	}
}

// choose takes the devices named, else all that are healthy, else the first.
func (st *stand) choose(o serveOptions, set facts.DeviceSet) (err error) {
	if st.facts == nil {
		st.devices = set.IDs
		return nil
	}
	if o.device == "" && st.all.Known() {
		for _, d := range st.all.Value {
			if d.Logic != nil && d.Health == "OK" {
				st.devices = append(st.devices, *d.Logic)
			}
		}
		slices.Sort(st.devices)
	}
	if len(st.devices) == 0 {
		st.devices, err = set.Pick(st.all, 0)
	}
	return err
}

// board tells what the shape of the service depends on.
func (st *stand) board(o serveOptions) engine.Board {
	b := engine.Board{Single: o.single}
	if st.facts != nil {
		b.MemTotal = st.facts.Memory.Value.TotalKB << 10
		// On the bus there is a card; a 310B that is not on it is the machine itself.
		b.RC = st.facts.Generation.Value == "310B" && len(st.facts.PCI.Value) == 0
	}
	return b
}

// visible is the list of devices that the runtime keeps to.
const visible = "ASCEND_RT_VISIBLE_DEVICES"

// visibleIDs reads the list as the runtime does: up to the first thing that is
// no number or follows one without a comma; a list that does not rise is refused
// as a whole (facts/acl.md 5.2).
func visibleIDs(list string) (ids []int) {
	for more := true; more; {
		var part string
		part, list, more = strings.Cut(list, ",")
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		id, err := strconv.Atoi(digits)
		if err != nil {
			return ids
		}
		if n := len(ids); n > 0 && id <= ids[n-1] {
			return nil
		}
		ids, more = append(ids, id), more && digits == part
	}
	return ids
}

// within numbers devices by their places in a list of visible ones.
func within(list []int, all []facts.Device) (out []facts.Device) {
	for place, id := range list {
		d := facts.Device{Phy: &id}
		if i := slices.IndexFunc(all, func(d facts.Device) bool { return d.Logic != nil && *d.Logic == id }); i >= 0 {
			d = all[i]
		}
		d.Logic = &place
		out = append(out, d)
	}
	return out
}

// device is what is known of a device, by the number the runtime gives it; nil
// for nothing.
func (st *stand) device(id int) *facts.Device {
	all := st.all.Value
	if i := slices.IndexFunc(all, func(d facts.Device) bool { return d.Logic != nil && *d.Logic == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// physical are the ids under which the devices are locked: those of the nodes,
// which are the same in every container.
func (st *stand) physical() (out []int) {
	for _, id := range st.devices {
		if d := st.device(id); d != nil && d.Phy != nil {
			id = *d.Phy
		}
		out = append(out, id)
	}
	return out
}

// places binds each worker to CPUs near its device, where it is sure which they
// are: the chips on the bus and those npu-smi lists are the same number.
// allowed are the CPUs there are for us.
func (st *stand) places(allowed []int) map[int][]int {
	if st.facts == nil {
		return nil
	}
	var chips []facts.PCI
	for _, p := range st.facts.PCI.Value {
		if p.Generation != "" {
			chips = append(chips, p)
		}
	}
	slices.SortFunc(chips, func(a, b facts.PCI) int { return cmp.Compare(a.Address, b.Address) })
	if len(chips) != st.total {
		return nil
	}
	var nodes []engine.Node
	for _, n := range st.facts.NUMA.Value {
		nodes = append(nodes, engine.Node{ID: n.Node, CPUs: n.CPUs})
	}
	var seats []engine.Seat
	for _, id := range st.devices {
		if d := st.device(id); d != nil && d.Phy != nil && *d.Phy < len(chips) {
			seats = append(seats, engine.Seat{Device: id, Node: chips[*d.Phy].NUMA})
		}
	}
	out, err := engine.Place(nodes, seats, allowed)
	if err != nil {
		return nil // a list that cannot be read binds nobody
	}
	return out
}

// runDirs are the places for the private folder of a front, by its mark. The
// addresses of sockets in it are short by law, so /tmp is the second.
func runDirs(mark string) []string {
	return []string{filepath.Join(os.TempDir(), "ascendctl-"+mark), "/tmp/ascendctl-" + mark}
}

// runDir makes a folder for the sockets of the workers.
func runDir(mark string) (string, error) {
	dirs := runDirs(mark)
	dir := dirs[0]
	if len(dir) > 80 {
		dir = dirs[1]
	}
	return dir, os.Mkdir(dir, 0o700)
}

// reborn starts this process anew where the environment that CANN needs is not
// the one it has: the loader reads it at the start only. It comes back only when
// nothing is to be done.
func (s *session) reborn(st *stand) error {
	base := environment(s.app.Environ)
	if want := st.setup.Over(base); !maps.Equal(want, base) {
		return execSelf(s.app.Self, append([]string{s.app.Self}, s.args...), engine.Environ(st.setup, base, nil))
	}
	return nil
}

// stand is survey with a folder for the workers.
func (s *session) stand(ctx context.Context, o serveOptions, what string) (*stand, string, error) {
	st, err := s.survey(ctx, o, what)
	if err != nil {
		return nil, "", err
	}
	dir, err := runDir(st.mark)
	if err == nil && st.layout.Single {
		err = s.reborn(st)
	}
	if err != nil {
		return nil, "", errors.Join(err, st.close(dir))
	}
	return st, dir, nil
}

// close gives back what survey took.
func (st *stand) close(dir string) error {
	return errors.Join(st.locks.Close(), os.RemoveAll(dir))
}
