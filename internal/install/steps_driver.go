package install

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// account is who owns driver and CANN files; that of an earlier install stays.
const account = "HwHiAiUser"

// Names and paths that the host's files tell go into commands of root, so only
// what looks like one is believed.
func (j *job) owner() (user, group string) {
	user, group = account, account
	if u := j.f.Install.Value.User; plainName(u) {
		user, group = u, u
	}
	if g := j.f.Install.Value.Group; plainName(g) {
		group = g
	}
	return user, group
}

func plainName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return s != "" && len(s) <= 32 && strings.Contains(letters, s[:1]) && strings.Trim(s, letters+"0123456789-.") == ""
}

// driverRoot is where driver and firmware lie.
func (j *job) driverRoot() string {
	if p := j.f.Install.Value.Path; path.IsAbs(p) && path.Clean(p) == p && p != "/" && !strings.ContainsAny(p, "\n\x00") {
		return p
	}
	return vendorRoot
}

// accountStep makes the account where it is missing. Its number is the host's
// choice unless one was asked for: containers compare numbers.
func (j *job) accountStep() plan.Step {
	user, group := j.owner()
	return plan.Step{
		ID: "user.account", Root: true, Title: report.T("user and group %s", "用户和用户组 %s", user),
		Do: []plan.Act{plan.Group(group, j.UID), plan.User(user, j.UID, group, "/home/"+user, "/bin/bash")},
	}
}

// driverSteps: on a bare host the driver comes first, over an older one the
// firmware does (source: ascend-deployer 26.0.0 library/process_npu.py).
func (j *job) driverSteps() ([]plan.Step, error) {
	if j.hdk == nil {
		return nil, nil
	}
	driver, err := j.hdkStep("driver")
	if err != nil {
		return nil, err
	}
	firmware, err := j.hdkStep("firmware")
	if err != nil {
		return nil, err
	}
	steps := []plan.Step{j.accountStep(), driver, firmware}
	switch {
	case j.guest():
		steps = steps[:2] // the firmware is the business of the machine below
	case j.replace:
		steps[1], steps[2] = firmware, driver
	}
	for i := range steps[1:] {
		steps[i+1].Needs = append([]string{stageStep}, before(steps[:i+1])...)
	}
	j.set.Packages = append(j.set.Packages, *j.hdk)
	return append(steps, plan.Step{
		ID: "hdk.reboot", Root: true, Risk: plan.RiskReboot, Needs: before(steps),
		Title: report.T("restart, so that driver and firmware take effect", "重启，使驱动和固件生效"),
		Do:    []plan.Act{plan.Reboot{}},
	}), nil
}

// guest is a machine with a slice of an NPU, whose driver is built for that.
func (j *job) guest() bool { return j.f.Install.Value.Mode == "vnpu_guest" }

// hdkStep installs the driver or the firmware of the package.
func (j *job) hdkStep(part string) (plan.Step, error) {
	row := j.d.installer(part)
	in := installing{step: "hdk." + part, part: part, pack: *j.hdk, options: row.First, root: true}
	if j.replace {
		in.options = row.Again
	}
	file, err := j.fileOf(&in)
	if err != nil {
		return plan.Step{}, err
	}
	root := j.driverRoot()
	version, info := versionIn(file.Name), path.Join(root, part, "version.info")
	in.check = says(info, "Version", version)
	if version == "" { // the file is not at hand: its package tells the release it belongs to
		in.check = either(says(info, "package_version", j.hdk.Version), says(info, "Version", j.hdk.Version))
		version = j.hdk.Version
	}
	in.title = report.T("%s %s", "%s %s", partName(part), version)
	in.touch = []plan.Touch{{Path: "/etc/ascend_install.info"}, {Path: "/etc/ascend_driver.conf"}}
	if part == "driver" {
		if user, group := j.owner(); user != account {
			in.options = append(slices.Clone(in.options), "--install-username="+user, "--install-usergroup="+group)
		}
		if mode := j.f.Install.Value.Mode; strings.HasPrefix(mode, "vnpu_") && mode != "vnpu_docker_host" {
			in.options = append(slices.Clone(in.options), "--"+mode)
		}
		in.check = plan.All(in.check, unless("/etc/ascend_install.info", "Driver_Install_Status", "complete"))
		in.touch = append(in.touch, driverTouches(j.f.Kernel.Value)...)
	}
	in.touch = append(in.touch, plan.Touch{Path: root, Tree: true})
	in.undo = []string{path.Join(root, row.Undo)}
	s := j.installerStep(in, file)
	if j.replace {
		s.Risk = plan.RiskDriver
		s.Keeps = report.T("the %s before it (%s) does not come back: install its package again", "原来的%s（%s）不会恢复：需重新安装其软件包", partName(part), j.before(part))
		s = withoutUndo(s)
	}
	return s, nil
}

func (j *job) before(part string) string {
	if part == "driver" {
		return j.f.Driver.Value.Version
	}
	return cmp.Or(j.f.Firmware.Value.Version, "?")
}

// withoutUndo: what was replaced is gone, and an uninstall would leave a host
// without any driver.
func withoutUndo(s plan.Step) plan.Step {
	for i, a := range s.Do {
		if c, ok := a.(plan.Command); ok && !c.Always && len(c.Argv) > 0 {
			c.Undo, c.Touch = nil, nil
			s.Do[i] = c
		}
	}
	return s
}

func partName(part string) report.Text {
	switch part {
	case "driver":
		return report.T("driver", "驱动")
	case "firmware":
		return report.T("firmware", "固件")
	}
	return report.Same(part)
}

// driverTouches are the places outside its folder that the driver's installer
// writes (source: hicann/driver scripts).
func driverTouches(kernel string) (ts []plan.Touch) {
	for _, p := range strings.Fields(`/etc/ld.so.conf.d/ascend_driver_so.conf /etc/init.d/host_sys_init.sh /etc/systemd/system/host_sys_init.service
 /usr/lib/systemd/system/host_sys_init.service /usr/local/bin/npu-smi /usr/local/sbin/npu-smi /usr/bin/hccn_tool /usr/bin/msnpureport`) {
		ts = append(ts, plan.Touch{Path: p})
	}
	for _, p := range []string{"/usr/local/dcmi", "/lib/modules/" + kernel + "/updates"} {
		if path.Clean(p) == p && kernel != "" {
			ts = append(ts, plan.Touch{Path: p, Tree: true})
		}
	}
	return ts
}

// versionIn reads the version out of the name of a driver or a firmware; "" when
// the name has none.
func versionIn(name string) string {
	for _, mark := range []string{"npu-driver_", "npu-firmware_"} {
		if _, rest, ok := strings.Cut(name, mark); ok {
			rest, _, _ = strings.Cut(rest, "_linux")
			return strings.TrimSuffix(rest, ".run")
		}
	}
	return ""
}
