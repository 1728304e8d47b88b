package facts

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
)

func (l *look) driver() []query {
	wanted := slices.Concat(containerPaths, l.Options.Paths)
	return append(l.driverAt(driverRoot),
		into(&l.Firmware, file(vendorRoot+"/firmware/version.info"), func(s string) (Firmware, error) {
			return firmwareInfo(s, vendorRoot+"/firmware/version.info")
		}),
		into(&l.Install, file("/etc/ascend_install.info"), installInfo),
		into(&l.LoaderConf, file("/etc/ld.so.conf.d/ascend_driver_so.conf"), list),
		orNothing(&l.Facts.Paths, stat(wanted...), func(s string) (map[string]bool, error) {
			entries, err := stats(s)
			m := map[string]bool{}
			for _, p := range wanted {
				m[p] = slices.Contains(paths(entries), p)
			}
			return m, err
		}),
		l.serviceUnits(), l.serviceScript())
}

// containerPaths are what a container is given of the host (source: vllm-ascend
// docs; Ascend/cann-container-image OVERVIEW), npu-smi in each of its places.
var containerPaths = []string{driverRoot + "/lib64", "/usr/local/dcmi", driverRoot + "/version.info", "/etc/ascend_install.info",
	"/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi", "/usr/bin/npu-smi"}

// driverAt asks for the driver below one root.
func (l *look) driverAt(root string) []query {
	info := root + "/version.info"
	libs := []string{root + "/lib64/libascend_hal.so", root + "/lib64/common/libascend_hal.so", root + "/lib64/driver/libascend_hal.so"}
	return []query{
		into(&l.Driver, file(info), func(s string) (Driver, error) { return driverInfo(s, info) }),
		into(&l.DriverTime, stat(info), func(s string) (time.Time, error) {
			entries, err := stats(s)
			if err != nil || len(entries) != 1 {
				return time.Time{}, odd("one file", s)
			}
			if entries[0].mtime == "-" {
				return time.Time{}, errors.New("the host does not tell the time of change")
			}
			return unix(entries[0].mtime)
		}),
		into(&l.DriverLibs, stat(libs...), func(s string) ([]string, error) {
			entries, err := stats(s)
			return paths(entries), err
		}),
	}
}

// driverElsewhere follows the path the installer wrote down, when there is no
// driver in the usual place.
func (l *look) driverElsewhere() []query {
	root := path.Join(l.Install.Value.Path, "driver")
	if l.Driver.Known() || l.Install.Value.Path == "" || root == driverRoot || !path.IsAbs(root) {
		return nil
	}
	return l.driverAt(root)
}

func driverInfo(s, from string) (Driver, error) {
	m, err := typedPairs(s, "Version")
	if err != nil {
		return Driver{}, err
	}
	v, err := token(m["Version"])
	return Driver{Path: from, Version: v, Inner: m["Innerversion"], HAL: m["ascendhal_version"], Package: m["package_version"],
		Compatible: branches(m["compatible_version"]), Firmware: ranges(m["compatible_version_fw"])}, err
}

func firmwareInfo(s, from string) (Firmware, error) {
	m, err := typedPairs(s, "Version")
	if err != nil {
		return Firmware{}, err
	}
	v, err := token(m["Version"])
	return Firmware{Path: from, Version: v, Package: m["package_version"], Drivers: ranges(m["compatible_version_drv"])}, err
}

func installInfo(s string) (Install, error) {
	m := pairs(s, "=")
	if len(m) == 0 {
		return Install{}, odd("KEY=VALUE lines", s)
	}
	return Install{User: m["UserName"], Group: m["UserGroup"], Path: m["Driver_Install_Path_Param"],
		Mode: m["Driver_Install_Mode"], Status: m["Driver_Install_Status"], Keys: m}, nil
}

// serviceUnits and serviceScript are two ways in which modules are loaded at
// boot; either is enough, so they make one fact.
func (l *look) serviceUnits() query {
	q := run("systemctl", "list-unit-files", "host_sys_init*")
	return query{q, func(a host.Answer) {
		f := fact(a, q, func(s string) (Service, error) {
			for _, line := range lines(s) {
				if w := strings.Fields(line); len(w) >= 2 && strings.HasPrefix(w[0], "host_sys_init") {
					return Service{Unit: w[0], State: w[1]}, nil
				}
			}
			return Service{}, nil
		})
		if strings.Contains(clean(a.Stdout), "0 unit files") && a.State == host.Known { // newer systemd says no with exit 1
			f = Fact[Service]{State: host.Known, Source: f.Source}
		}
		if f.Known() && f.Value.Unit == "" || a.State == host.Absent { // no systemd, no units
			f = Fact[Service]{State: host.Absent, Source: f.Source}
		}
		l.Service = f
	}}
}

func (l *look) serviceScript() query {
	const script = "/etc/init.d/host_sys_init.sh"
	return query{stat(script), func(a host.Answer) {
		there := a.State == host.Known && strings.HasPrefix(string(a.Stdout), script+" ")
		switch {
		case there:
			l.Service.Value.Script, l.Service.Note = script, ""
			l.Service.State, l.Service.Source = host.Known, strings.TrimPrefix(l.Service.Source+", "+script, ", ")
		case a.State == host.Unknown && !l.Service.Known():
			l.Service.State, l.Service.Note = host.Unknown, reason(a)
		}
	}}
}

func (l *look) modules() []query {
	return []query{into(&l.Modules, file("/proc/modules"), func(s string) (out []string, err error) {
		for _, line := range lines(s) {
			name, _, _ := strings.Cut(line, " ")
			out = append(out, name)
		}
		return out, nil
	})}
}

// moduleNames are asked for with modinfo (source: hicann/driver; builds of 2026
// have no drv_davinci_intf_host).
var moduleNames = []string{"drv_pcie_hdc_host", "drv_pcie_host", "drv_davinci_intf_host"}

// moduleFiles asks where the modules for the running kernel lie: modinfo knows,
// and where it is not installed the usual depths of the tree are looked through.
func (l *look) moduleFiles() (qs []query) {
	if !l.Kernel.Known() {
		l.ModuleFiles = Fact[map[string]string]{State: host.Unknown, Source: l.Kernel.Source, Note: "the running kernel is not known"}
		return nil
	}
	root := "/lib/modules/" + l.Kernel.Value
	l.ModuleFiles = Fact[map[string]string]{State: host.Absent, Source: "modinfo -k " + l.Kernel.Value}
	for _, name := range moduleNames {
		qs = append(qs, l.modinfo(name))
	}
	if l.Tools.Value["modinfo"] != "" {
		return qs
	}
	for _, depth := range []string{"/", "/*/", "/*/*/", "/*/*/*/"} {
		qs = append(qs, query{glob(root + depth + "drv_*_host.ko*"), func(a host.Answer) {
			for _, found := range lines(clean(a.Stdout)) {
				if name, _, _ := strings.Cut(path.Base(found), "."); a.State == host.Known && slices.Contains(moduleNames, name) {
					l.foundModule(name, found)
				}
			}
		}})
	}
	return qs
}

func (l *look) modinfo(name string) query {
	q := run("modinfo", "-k", l.Kernel.Value, name)
	return query{q, func(a host.Answer) {
		f := fact(a, q, func(s string) (string, error) { return word(pairs(s, ":")["filename"]) })
		switch {
		case f.Known():
			l.foundModule(name, f.Value)
		case a.State == host.Unknown && !l.ModuleFiles.Known(): // "no such module" is an answer: exit 1
			l.ModuleFiles.State, l.ModuleFiles.Note = host.Unknown, f.Note
		}
	}}
}

func (l *look) foundModule(name, file string) {
	m := maps.Clone(l.ModuleFiles.Value)
	if m == nil {
		m = map[string]string{}
	}
	if m[name] == "" {
		m[name] = file
	}
	l.ModuleFiles.Value, l.ModuleFiles.State, l.ModuleFiles.Note = m, host.Known, ""
}
