package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestShapes holds what the tools of different hosts print against the one
// normal form.
func TestShapes(t *testing.T) {
	const id64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		name   string
		q      Question
		out    string
		stderr string
		want   string // "" with bad = refused
		bad    bool
	}{
		{"stat", Question{Kind: Stat, Args: []string{"/a b", "/l", "/x", "/x2", "/n"}},
			"81a4\t0\t1000\t5\t1700000000\troot\tHwHiAiUser\t/a b\na1ff\t0\t0\t3\t-5\troot\tdomain users\t/l\n",
			"stat: cannot statx '/x': No such file or directory\nstat: can't stat '/x2': Permission denied\nstat: cannot stat '/n': Not a directory\n",
			"/a b f 0644 root HwHiAiUser 0 1000 5 1700000000\n/l l 0777 root domain_users 0 0 3 -5\n/x2 ? ? ? ? ? ? ? ?\n", false},
		{"stat that is not there", Question{Kind: Stat, Args: []string{"/a"}}, "", "sh: stat: Exec format error", "", true},
		{"nodes", Question{Kind: Nodes}, "21b0\t1000\t1000\tec\t1f4\tHwHiAiUser\tHwHiAiUser\t/dev/davinci0\n", "", "/dev/davinci0 0660 HwHiAiUser HwHiAiUser 1000 1000 236 500\n", false},
		{"nodes, rubbish", Question{Kind: Nodes}, "z\tb\tc\td\te\tf\tg\th\n", "", "", true},
		{"disk", Question{Kind: Disk}, "Filesystem     1024-blocks  Used Available Capacity Mounted on\n//server/my share  100  40  60  40% /mnt/a b\ninodes\nFilesystem Inodes IUsed IFree IUse% Mounted on\nx 10 4 6 40% /mnt/a b\nmounts\nx /mnt ext4 rw 0 0\ny /mnt/a\\040b cifs ro,noexec 0 0\n", "",
			"total_kb=100\nused_kb=40\navail_kb=60\ninodes=10\nifree=6\nmount=/mnt/a b\nfstype=cifs\noptions=ro,noexec\n", false},
		{"disk without inodes", Question{Kind: Disk}, "F\nbtrfs 100 40 -6 107% /\ninodes\nF\nbtrfs 0 0 0 - /\nmounts\n", "", "total_kb=100\nused_kb=40\navail_kb=-6\nmount=/\n", false},
		{"disk in Chinese", Question{Kind: Disk}, "文件系统 容量\n", "", "", true},
		{"identity", Question{Kind: Identity}, "uid=1000(npu) gid=1000(npu) groups=1000(npu),1001(HwHiAiUser),5(domain users) context=unconfined_u:unconfined_r:s0\nhome=/home/npu\n", "",
			"uid=1000\ngid=1000\nuser=npu\nhome=/home/npu\ngroups=npu:1000,HwHiAiUser:1001,domain_users:5\n", false},
		{"identity without names", Question{Kind: Identity}, "uid=65534 gid=7 groups=7\nhome=\n", "", "uid=65534\ngid=7\nuser=65534\nhome=\ngroups=7:7\n", false},
		{"identity, rubbish", Question{Kind: Identity}, "用户id=0(root)\n", "", "", true},
		{"limits", Question{Kind: Limits}, "Limit                     Soft Limit           Hard Limit           Units\nMax core file size        0                    unlimited            bytes\nMax open files            1024                 1048576              files\nMax locked memory         65536                65536                bytes\n", "",
			"nofile=1024\nmemlock_kb=64\ncore=0\n", false},
		{"limits, unlimited", Question{Kind: Limits}, "Max open files            unlimited unlimited files\r\nMax locked memory         unlimited            unlimited            bytes\r\n", "", "nofile=unlimited\nmemlock_kb=unlimited\n", false},
		{"limits, rubbish", Question{Kind: Limits}, "Max open files\n", "", "", true},
		{"env", Question{Kind: Env}, "A=1\nx\x00LC_ALL=C\x00B=\x00rubbish\x00LC_ALL=zh_CN.UTF-8\x00", "", "A=1\nx\x00B=\x00LC_ALL=zh_CN.UTF-8\x00", false},
		{"pci", Question{Kind: PCI}, "0000:c1:00.0\tvendor=0x19e5\tcurrent_link_speed=16.0 GT/s PCIe\tdriver=devdrv_device_driver\n", "", "0000:c1:00.0 vendor=0x19e5 current_link_speed=16.0_GT/s_PCIe driver=devdrv_device_driver\n", false},
		{"hostname", Question{Kind: Hostname}, "name=npu-01\ngetent\n192.0.2.1 STREAM npu-01\n192.0.2.1 DGRAM\nfe80::1 STREAM\n", "", "name=npu-01\nresolves=192.0.2.1,fe80::1\n", false},
		{"hostname that resolves to nothing", Question{Kind: Hostname}, "name=x\ngetent\n", "", "name=x\nresolves=\n", false},
		{"hostname without getent", Question{Kind: Hostname}, "name=x\n", "", "name=x\n", false},
		{"clock", Question{Kind: Clock}, "1700000000.123456789\n", "", "unix=1700000000.123456789\n", false},
		{"clock of busybox", Question{Kind: Clock}, "1700000000.%N\n", "", "unix=1700000000\n", false},
		{"clock, rubbish", Question{Kind: Clock}, "date: invalid\n", "", "", true},
		{"boot", Question{Kind: Boot}, "btime 1700000000\n", "", "boot=1700000000\n", false},
		{"boot, rubbish", Question{Kind: Boot}, "btime\n", "", "", true},
		{"ports of ss", Question{Kind: Ports}, "State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\nLISTEN 0 128 0.0.0.0:8000 0.0.0.0:* users:((\"python my\",pid=42,fd=3),(\"x\",pid=43,fd=3))\nLISTEN 0 128 [::]:22 [::]:*\nLISTEN 0 128 *:22 *:*\nLISTEN 0 5 127.0.0.1%lo:53 0.0.0.0:* users:((\"dns\",7,3))\n", "",
			"22 - -\n53 7 dns\n8000 42 python_my\n", false},
		{"ports of proc", Question{Kind: Ports}, "  sl  local_address rem_address   st\n   0: 0100007F:1F40 00000000:0000 0A 00000000:0\n   1: 0100007F:0016 0100007F:1234 01\n   2: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A\n", "", "22 - -\n8000 - -\n", false},
		{"procs", Question{Kind: Procs}, "p\t42\t1000\tnpu\t42 (a) b) S 1 42 42 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 5000 1 1\t0::/system.slice/docker-" + id64 + ".scope\tpython3 -m vllm \np\t7\t0\troot\t7 (kworker) I\t\t\nboot\tbtime 1700000000\nhz\t100\n", "",
			"42\t1000\tnpu\t1700000050\t" + id64 + "\tpython3 -m vllm\n7\t0\troot\t-\t-\t[kworker]\n", false},
		{"reach", Question{Kind: Reach, Args: []string{"b", "a", "c"}}, "a 200\nb 000\n", "", "b -\na 200\nc -\n", false},
		{"sandbox: bare", Question{Kind: Sandbox}, "virt=none\ncontainer=none\ncgroup=0::/init.scope \nversion=Linux\n", "", "kind=none\nvirt=none\ncontainer=none\n", false},
		{"sandbox: vm", Question{Kind: Sandbox}, "virt=kvm\ncontainer=none\n", "", "kind=none\nvirt=kvm\ncontainer=none\n", false},
		{"sandbox: docker", Question{Kind: Sandbox}, "mark=docker\ncgroup=0::/ \n", "", "kind=runc\nvirt=docker\ncontainer=docker\n", false},
		{"sandbox: pod", Question{Kind: Sandbox}, "cgroup=12:pids:/kubepods/burstable/pod1 \n", "", "kind=runc\nvirt=kubepods\ncontainer=kubepods\n", false},
		{"sandbox: gvisor", Question{Kind: Sandbox}, "mark=docker\nversion=Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n", "", "kind=gvisor\nvirt=docker\ncontainer=docker\n", false},
		{"sandbox: kata", Question{Kind: Sandbox}, "cgroup=0::/kubepods/x\ncmdline=console=hvc0 agent.log_vport=1025\n", "", "kind=kata\nvirt=kubepods\ncontainer=kubepods\n", false},
		{"sandbox: nobody can say", Question{Kind: Sandbox}, "", "", "kind=none\ncontainer=none\n", false},
	} {
		got, err := forms[c.q.Kind].shape(c.q, c.out, c.stderr)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%s:\ngot  %q %v\nwant %q", c.name, got, err, c.want)
		}
	}
}

// here runs the text of a form on a made tree instead of / (simulated).
func here(t *testing.T, kind Kind, tree string, args ...string) string {
	t.Helper()
	text, err := texts.ReadFile("forms/" + forms[kind].text)
	if err != nil {
		t.Fatal(err)
	}
	s := strings.NewReplacer("/sys/", tree+"/sys/", "/dev/", tree+"/dev/", "2>/dev/null", "2>/dev/null", "/proc/locks", tree+"/proc/locks").Replace(string(text))
	out, err := exec.Command("sh", append([]string{"-c", s, "sh"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	q := Question{Kind: kind, Args: args}
	if forms[kind].shape == nil {
		return string(out)
	}
	got, err := forms[kind].shape(q, string(out), "")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func lay(t *testing.T, tree map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range tree {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "->"); ok {
			if err := os.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPCIWalk(t *testing.T) {
	tree := lay(t, map[string]string{
		"sys/bus/pci/devices/0000:c1:00.0/vendor":             "0x19e5\n",
		"sys/bus/pci/devices/0000:c1:00.0/device":             "0xd802\n",
		"sys/bus/pci/devices/0000:c1:00.0/class":              "0x120000\n",
		"sys/bus/pci/devices/0000:c1:00.0/current_link_speed": "16.0 GT/s PCIe\n",
		"sys/bus/pci/devices/0000:c1:00.0/driver":             "->../../drivers/devdrv_device_driver",
		"sys/bus/pci/devices/0000:02:00.0/vendor":             "0x8086\n",
		"sys/bus/pci/devices/0000:02:00.0/class":              "0x020000\n",
		"sys/bus/pci/devices/0000:03:00.0/vendor":             "0x1234\n",
		"sys/bus/pci/devices/0000:03:00.0/class":              "0x120000\n",
		"sys/bus/pci/devices/0000:04:00.0/vendor":             "0x19e5\n",
		"sys/bus/pci/devices/0000:04:00.0/class":              "0x030000", // no newline
	})
	want := "0000:03:00.0 vendor=0x1234 class=0x120000\n0000:04:00.0 vendor=0x19e5 class=0x030000\n" +
		"0000:c1:00.0 vendor=0x19e5 device=0xd802 class=0x120000 current_link_speed=16.0_GT/s_PCIe driver=devdrv_device_driver\n"
	if got := here(t, PCI, tree); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := here(t, PCI, lay(t, map[string]string{"sys/bus/x": ""})); got != "" {
		t.Errorf("no PCI: %q", got)
	}
}

func TestLocksAreMatchedByInode(t *testing.T) {
	tree := lay(t, map[string]string{"held": "", "free": ""})
	r, err := exec.Command("stat", "-c", "%i", tree+"/held").Output()
	if err != nil {
		t.Fatal(err)
	}
	inode := strings.TrimSpace(string(r))
	text := "1: POSIX  ADVISORY  WRITE 1 08:01:" + inode + " 0 EOF\n1: -> POSIX  ADVISORY  WRITE 2 08:01:" + inode + " 0 EOF\n2: FLOCK  ADVISORY  WRITE -1 08:01:" + inode + " 0 EOF\n3: OFDLCK ADVISORY READ 3 00:01:1" + inode + " 0 0\n"
	if err := os.MkdirAll(tree+"/proc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tree+"/proc/locks", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := here(t, Locks, tree, tree+"/held", tree+"/free", tree+"/none")
	if f := strings.Fields(got); len(f) != 6 || f[0] != tree+"/held" || f[1] != "-" || f[3] != tree+"/held" || f[4] != "1" {
		t.Errorf("%q", got)
	}
}

// python runs a text of forms/ with a made site folder before all others.
func python(t *testing.T, text, site string, args ...string) (string, error) {
	t.Helper()
	code, err := texts.ReadFile("forms/" + text)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", append([]string{"-S", "-c", string(code)}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+site)
	out, err := cmd.Output()
	return string(out), err
}

// TestPythonTextsImportNothing: a package that would end the process when it is
// imported is read by its metadata all the same.
func TestPythonTextsImportNothing(t *testing.T) {
	site := lay(t, map[string]string{
		"torch/__init__.py":                         "raise SystemExit('imported')\n",
		"torch/share/cmake/Torch/TorchConfig.cmake": "set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=1\")\n",
		"torch_npu-2.8.0.post2.dist-info/METADATA":  "Metadata-Version: 2.1\nName: torch_npu\nVersion: 2.8.0.post2\n\nName: not this\n",
		"zz.Old__Name.egg-info/PKG-INFO":            "Name: zz.Old__Name\nVersion: 1.0+\xff cpu\n",
		"zz_flat-3.egg-info":                        "Name: zz-flat\r\nVersion: 3\r\n",
		"zz_broken-1.dist-info/METADATA":            "no header\n",
		"zz_empty-1.dist-info/RECORD":               "",
	})
	out, err := python(t, "packages.py", site)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, l := range lines(out) {
		if strings.HasPrefix(l, "torch-npu ") || strings.HasPrefix(l, "zz") {
			ours = append(ours, l)
		}
	}
	if got := strings.Join(ours, "|"); got != "torch-npu 2.8.0.post2|zz-flat 3|zz-old-name 1.0+\ufffd" {
		t.Errorf("%q", got)
	}
	if out, err := python(t, "torch_abi.py", site); err != nil || out != "1\n" {
		t.Errorf("torch_abi: %q %v", out, err)
	}
	if out, err := python(t, "torch_abi.py", lay(t, map[string]string{"torch/__init__.py": ""})); err == nil {
		t.Errorf("a wheel that does not say: %q", out)
	}
	out, err = python(t, "python.py", site, "torch", "zz_none", "a.b.c")
	if err != nil || !strings.Contains(out, "torch=true\nzz_none=false\na.b.c=false\n") || !strings.HasPrefix(out, "version=3.") {
		t.Errorf("python: %q %v", out, err)
	}
}

// TestGlobPattern: only the wildcards reach the shell unquoted.
func TestGlobPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		"/a*b?":       `/a*b?`,
		"/[a-c]x":     `/[a-c]x`,
		"/[$(id)]":    `/'[''$''('id')'']'`,
		"/a[":         `/a'['`,
		"/'*;rm -rf/": `/''\'''*';'rm' '-rf/`,
	} {
		if got := globPattern(pattern); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}
