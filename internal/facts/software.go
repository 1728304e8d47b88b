package facts

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
)

// toolNames are the tools somebody needs: our own questions, the vendor's
// driver installer (its check_tools.conf; source: hicann/driver), builds and
// container runtimes.
var toolNames = strings.Fields(`sh bash cat ls stat df id uname getconf readlink ldd ldconfig awk sed grep find base64 date timeout
 lspci ip ss modinfo modprobe systemctl systemd-detect-virt lsattr chattr groups useradd udevadm wc head tail which ifconfig
 chkconfig update-rc.d dkms gcc g++ make cmake python3 pip3 sudo dmidecode mokutil npu-smi hccn_tool msnpureport ascend-dmi
 docker nerdctl podman containerd ascend-docker-runtime getent chronyc timedatectl curl wget unzip openssl`)

func (l *look) tools() []query {
	return []query{
		into(&l.Tools, typed(host.Tools, toolNames...), func(s string) (map[string]string, error) {
			m := map[string]string{}
			for _, name := range toolNames {
				m[name] = ""
			}
			for _, line := range lines(s) {
				name, where, _ := strings.Cut(line, " ")
				if _, asked := m[name]; !asked || where == "" {
					return nil, odd("name path", line)
				}
				m[name] = where
			}
			return m, nil
		}),
		intoTool(&l.GCC, run("g++", "--version"), firstVersion),
		intoTool(&l.CMake, run("cmake", "--version"), firstVersion),
	}
}

// stdModules are modules of the standard library that a self-built Python
// lacks when a header was missing, and that somebody needs.
var stdModules = []string{"sqlite3", "ssl", "ctypes", "lzma", "bz2", "venv"}

func (l *look) python() []query {
	return []query{
		into(&l.Python, typed(host.Python, stdModules...), func(s string) (Python, error) {
			m, err := typedPairs(s, "version")
			p := Python{Version: m["version"], Path: m["path"], Modules: map[string]bool{}}
			for k, v := range m {
				if v == "true" || v == "false" {
					p.Modules[k] = v == "true"
				}
			}
			return p, err
		}),
		into(&l.Packages, typed(host.Packages), func(s string) (map[string]string, error) {
			m := map[string]string{}
			for _, line := range lines(s) {
				name, v, ok := strings.Cut(line, " ")
				if !ok {
					return nil, odd("name version", line)
				}
				m[name] = v
			}
			return m, nil
		}),
		into(&l.TorchABI, typed(host.TorchABI), wholeNumber),
	}
}

// torch imports it in a child, when slow questions are wanted.
func (l *look) torch() []query {
	if !l.Deep {
		return nil
	}
	q := within(60*time.Second, run("python3", "-c", "import torch"))
	return []query{{q, func(a host.Answer) {
		l.TorchImport = Fact[Import]{State: a.State, Source: source(q)}
		switch a.State {
		case host.Known:
			l.TorchImport.Value = Import{OK: a.Exit == 0, MS: a.Took.Milliseconds()}
			if a.Exit != 0 {
				l.TorchImport.Value.Text = failure(a)
			}
		case host.Unknown:
			l.TorchImport.Note = reason(a)
		}
	}}}
}

func (l *look) env() []query {
	qs := []query{into(&l.Facts.Env, typed(host.Env), environment)}
	if l.PID > 0 {
		qs = append(qs, into(&l.EnvProcess, typed(host.Env, strconv.Itoa(l.PID)), environment))
	}
	return qs
}

// searchPaths asks which folders of the environment exist, and which libstdc++
// the loader would meet first.
func (l *look) searchPaths() (qs []query) {
	const most = 128
	var dirs []string
	for _, env := range []map[string]string{l.Facts.Env.Value, l.EnvProcess.Value} {
		for _, key := range sortedKeys(env) {
			if key != "PATH" && key != "PYTHONPATH" && key != "LD_LIBRARY_PATH" && !strings.HasPrefix(key, "ASCEND_") && !strings.HasPrefix(key, "ATB_") {
				continue
			}
			for dir := range strings.SplitSeq(env[key], ":") {
				if path.IsAbs(dir) && len(dirs) < most && !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	if len(dirs) > 0 {
		qs = append(qs, query{stat(dirs...), func(a host.Answer) { l.existing(dirs, a) }})
	}
	return append(qs, l.libraries()...)
}

// existing adds to Paths which of the names a stat answer knows.
func (l *look) existing(names []string, a host.Answer) {
	entries, err := stats(clean(a.Stdout))
	if a.State == host.Unknown || a.State == "" || err != nil {
		return
	}
	there := paths(entries)
	if l.Facts.Paths.Value == nil {
		l.Facts.Paths = Fact[map[string]bool]{Value: map[string]bool{}, State: host.Known, Source: "stat"}
	}
	for _, n := range names {
		l.Facts.Paths.Value[n] = slices.Contains(there, n)
	}
}

// libraries asks which libstdc++ the loader would meet first.
func (l *look) libraries() []query {
	var names []string
	for dir := range strings.SplitSeq(l.Facts.Env.Value["LD_LIBRARY_PATH"], ":") {
		const most = 64
		if path.IsAbs(dir) && len(names) < most {
			names = append(names, path.Join(dir, "libstdc++.so.6"))
		}
	}
	if len(names) == 0 {
		if l.Facts.Env.Known() {
			l.LibStdCxx = Fact[string]{State: host.Absent, Source: "LD_LIBRARY_PATH"}
		}
		return nil
	}
	return []query{into(&l.LibStdCxx, stat(names...), func(s string) (string, error) {
		entries, err := stats(s)
		if err != nil {
			return "", err
		}
		for _, n := range names {
			if slices.Contains(paths(entries), n) {
				return n, nil
			}
		}
		return "", odd("libstdc++.so.6", s)
	})}
}

func (l *look) network() []query {
	qs := []query{
		into(&l.Addresses, run("ip", "-o", "addr"), addresses),
		into(&l.Listening, typed(host.Ports), func(s string) (out []Port, err error) {
			for _, line := range lines(s) {
				f := strings.Fields(line)
				port, bad := strconv.Atoi(f[0])
				if bad != nil || len(f) < 3 {
					return nil, odd("port pid command", line)
				}
				out = append(out, Port{port, atoi(f[1], 0), strings.TrimPrefix(strings.Join(f[2:], " "), "-")})
			}
			return out, nil
		}),
		{file("/etc/pip.conf"), l.pipConf},
	}
	if len(l.Reach) > 0 {
		qs = append(qs, into(&l.Reachable, typed(host.Reach, l.Reach...), reachable))
	}
	if l.MultiNode {
		qs = append(qs, l.firewall()...)
	}
	return qs
}

func addresses(s string) (out []Address, err error) {
	for _, line := range lines(s) { // 2: eth0    inet 192.0.2.31/24 brd ...
		if f := strings.Fields(line); len(f) >= 4 && strings.HasPrefix(f[2], "inet") {
			out = append(out, Address{strings.TrimSuffix(f[1], ":"), f[3]})
		}
	}
	if out == nil {
		return nil, odd("addresses of ip -o addr", s)
	}
	return out, nil
}

func reachable(s string) (map[string]bool, error) {
	m := map[string]bool{}
	for _, line := range lines(s) {
		name, status, _ := strings.Cut(line, " ")
		code, err := strconv.Atoi(status)
		m[name] = err == nil && code >= 100
	}
	return m, nil
}

// firewall asks the three in the order in which they hide each other.
func (l *look) firewall() []query {
	ask := func(tool string, active func(string) bool, argv ...string) query {
		q := asRoot(run(argv...))
		return query{q, func(a host.Answer) {
			said := clean(a.Stdout) + clean(a.Stderr)
			switch {
			case l.Firewall.Known() && l.Firewall.Value.Active:
			case a.State == host.Known && (a.Exit == 0 || strings.Contains(said, "not running")):
				l.Firewall = Fact[Firewall]{Firewall{tool, active(said), quoted(said)}, host.Known, source(q), ""}
			case !l.Firewall.Known():
				l.Firewall = Fact[Firewall]{State: a.State, Source: source(q)}
				if a.State != host.Absent {
					l.Firewall.State, l.Firewall.Note = host.Unknown, failure(a)
				}
			}
		}}
	}
	return []query{
		ask("firewalld", func(s string) bool { return !strings.Contains(s, "not") && strings.Contains(s, "running") }, "firewall-cmd", "--state"),
		ask("ufw", func(s string) bool { return strings.Contains(s, "Status: active") }, "ufw", "status"),
		ask("nftables", func(s string) bool { return strings.Contains(s, "drop") || strings.Contains(s, "reject") }, "nft", "list", "ruleset"),
	}
}

// pipConf adds the indexes of one configuration file of pip.
func (l *look) pipConf(a host.Answer) {
	if a.State != host.Known {
		return
	}
	for k, v := range pairs(clean(a.Stdout), "=") {
		if k == "index-url" || k == "extra-index-url" {
			l.index(v)
		}
	}
}

func (l *look) index(v string) {
	if u, err := url.Parse(v); err == nil && u.Host != "" {
		u.User = nil // a password may stand there
		l.PipIndex.Value = append(l.PipIndex.Value, u.String())
		l.PipIndex.State, l.PipIndex.Source = host.Known, "pip configuration"
	}
}

func (l *look) pip() []query {
	l.index(l.Facts.Env.Value["PIP_INDEX_URL"])
	home := l.Identity.Value.Home
	if home == "" {
		return nil
	}
	return []query{
		{file(home + "/.pip/pip.conf"), l.pipConf},
		{file(home + "/.config/pip/pip.conf"), l.pipConf},
	}
}

func (l *look) docker() []query {
	return []query{into(&l.Docker, file("/etc/docker/daemon.json"), func(s string) (Docker, error) {
		var j struct {
			Runtimes map[string]struct {
				Path string `json:"path"`
			} `json:"runtimes"`
			Default string   `json:"default-runtime"`
			Mirrors []string `json:"registry-mirrors"`
		}
		if err := json.Unmarshal([]byte(s), &j); err != nil {
			return Docker{}, odd("JSON ("+err.Error()+")", s)
		}
		d := Docker{Runtimes: map[string]string{}, Default: j.Default, Mirrors: j.Mirrors}
		for name, r := range j.Runtimes {
			d.Runtimes[name] = r.Path
		}
		return d, nil
	})}
}

// runtimes asks whether the registered runtimes exist.
func (l *look) runtimes() (qs []query) {
	for name, p := range l.Docker.Value.Runtimes {
		if !path.IsAbs(p) {
			continue
		}
		q := stat(p)
		qs = append(qs, query{q, func(a host.Answer) {
			if a.State == host.Absent || a.State == host.Known && none(a, q) {
				l.Docker.Value.Missing = append(l.Docker.Value.Missing, name)
				slices.Sort(l.Docker.Value.Missing)
			}
		}})
	}
	return qs
}
