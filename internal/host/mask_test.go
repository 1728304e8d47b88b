package host

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestMaskedAddressesStayDistinctAndInTheirSubnets(t *testing.T) {
	m := newMasks([]byte("key"))
	seen := map[netip.Addr]netip.Addr{}
	networks := []string{"10.1.2.0/25", "10.1.2.128/25", "10.1.3.0/24", "172.16.5.0/24", "192.168.7.0/24", "192.0.2.0/24", "192.99.0.0/24", "8.8.8.0/24", "11.0.0.0/24", "2001:db8:1::/120", "fd00:1:2::/120", "fe80::/120"}
	for _, n := range networks {
		p := netip.MustParsePrefix(n)
		var first netip.Prefix
		for a := p.Addr(); p.Contains(a) && (a.As16()[15]&0x7f) < 100; a = a.Next() {
			b := m.address(a)
			if old, twice := seen[b]; twice {
				t.Fatalf("%s and %s are both %s", old, a, b)
			}
			seen[b] = a
			masked, _ := b.Prefix(p.Bits())
			if !first.IsValid() {
				first = masked
			}
			if masked != first {
				t.Fatalf("%s left %s for %s", a, p, b)
			}
		}
	}
	for _, r := range ranges {
		p := netip.MustParsePrefix(r)
		last := p.Addr().Next().Next().Next()
		if b := m.address(last); !p.Contains(b) {
			t.Errorf("%s left %s for %s", last, r, b)
		}
	}
	for _, same := range []string{"127.0.0.1", "0.0.0.0", "255.255.255.0", "224.0.0.1", "169.254.1.1", "::1", "ff02::1"} {
		if b := m.address(netip.MustParseAddr(same)); b.String() != same {
			t.Errorf("%s names nobody and became %s", same, b)
		}
	}
	other := newMasks([]byte("another key"))
	if a := netip.MustParseAddr("10.20.30.40"); m.address(a) == other.address(a) || m.address(a) != newMasks([]byte("key")).address(a) {
		t.Error("the key does not decide")
	}
}

// masked records answers and gives the YAML.
func masked(t *testing.T, m *Masks, list ...any) string {
	t.Helper()
	h, qs := answers(list...)
	r := Record(h)
	r.Ask(t.Context(), qs)
	data, err := r.YAML(RecordOptions{Masks: m})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestIdentifiersGoAndVersionsStay(t *testing.T) {
	file := func(p string) Question { return Question{Kind: File, Args: []string{p}} }
	run := func(argv ...string) Question { return Question{Kind: Exec, Args: argv} }
	list := []any{
		Question{Kind: Hostname}, "name=npu-prod-07\nresolves=10.11.12.13,127.0.1.1\n",
		Question{Kind: Identity}, "uid=1005\ngid=1005\nuser=zhangsan\nhome=/home/zhangsan\ngroups=zhangsan:1005,HwHiAiUser:1000\n",
		Question{Kind: Env}, "HOME=/home/zhangsan\x00HTTPS_PROXY=http://bob:hunter2hunter@10.11.12.99:3128\x00HF_TOKEN=hf_abcdefghijk\x00AWS_SECRET_ACCESS_KEY=wJalrXUtn\x00LIBRARY=hf_abcdefghijk\x00TOKENIZERS_PARALLELISM=false\x00PYTHONPATH=/home/wangwu/lib\x00",
		Question{Kind: Env, Args: []string{"7"}}, "MYSQL_PASSWORD=p4ss\x00PATH=/usr/bin\x00",
		Question{Kind: Packages}, "opencv-python 4.7.0.72\nnumpy 1.26.4\n",
		file("/etc/hosts"), "127.0.0.1 localhost\n10.11.12.14 npu-prod-08.corp.example npu-prod-08\n",
		file("/etc/passwd"), "root:x:0:0:root:/root:/bin/bash\nHwHiAiUser:x:1000:1000::/home/HwHiAiUser:/bin/bash\nzhangsan:x:1005:1005::/home/zhangsan:/bin/bash\nlisi:x:1006:1006::/home/lisi:/bin/bash\n",
		file("/etc/machine-id"), "0123456789abcdef0123456789abcdef\n",
		file("/usr/local/Ascend/driver/version.info"), "Version=22.0.0.3\ncompatible_version_fw=[22.0.0.1,22.0.0.9]\npackage_version=22.0.0.3\n",
		run("uname", "-r"), "5.10.0-216.0.0.115.oe2203sp4.aarch64\n",
		run("npu-smi", "info"), "| npu-smi 22.0.0.3                 Version: 22.0.0.3 |\n",
		run("npu-smi", "info", "-t", "board", "-i", "0"), "\tSerial Number                  : 2102312ABCDEF4000123\n\tPCIe Bus Info                  : 0000:C1:00.0\n\tVDie ID                        : 14B05C58 1F20A4E8\n",
		run("hccn_tool", "-i", "0", "-ip", "-g"), "ipaddr:22.0.0.7\nnetmask:255.255.255.0\n",
		run("ip", "a"), "link/ether 84:46:fe:01:02:03 brd ff:ff:ff:ff:ff:ff\ninet 10.11.12.13/24 brd 10.11.12.255\ninet6 2409:8a00:1:2::15/64\n",
		file("/proc/cmdline"), "root=UUID=3f2c1a77-0b1d-4c55-9d52-2f0a7a3b9c11 ro console=npu-prod-07\n",
		file("/home/zhangsan/x"), errors.New("/home/zhangsan/x: permission denied"),
		run("cat", "log"), "vllm serve --api-key sk-123456 from 10.11.12.200 at npu-prod-07.corp.example\n",
	}
	text := masked(t, newMasks([]byte("key")), list...)
	for _, gone := range []string{"npu-prod", "corp.example", "10.11.12.", "zhangsan", "lisi", "wangwu", "2102312ABCDEF4000123", "14B05C58", "84:46:fe", "3f2c1a77", "0123456789abcdef", "22.0.0.7", "2409:8a00",
		"hunter2hunter", "bob", "hf_abcdefghijk", "wJalrXUtn", "p4ss", "sk-123456"} {
		if strings.Contains(text, gone) {
			t.Errorf("%s is left", gone)
		}
	}
	for _, stays := range []string{"Version=22.0.0.3", "[22.0.0.1,22.0.0.9]", "npu-smi 22.0.0.3 ", "5.10.0-216.0.0.115.oe2203sp4.aarch64", "4.7.0.72", "0000:C1:00.0", "255.255.255.0", "127.0.1.1",
		"HwHiAiUser:x:1000", "ff:ff:ff:ff:ff:ff", "localhost", "PATH=/usr/bin", "TOKENIZERS_PARALLELISM: \"false\"", "user: user", "HF_TOKEN: '***'"} {
		if !strings.Contains(text, stays) {
			t.Errorf("%s is gone", stays)
		}
	}
	d, err := LoadDescription("r", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	me := d.Facts.Identity.User
	if d.Env["HOME"] != "/home/"+me || !strings.Contains(d.Files["/etc/passwd"], "\n"+me+":x:1005:1005::/home/"+me) || d.Facts.Identity.Groups[0].Name != me {
		t.Errorf("one user has several names: %+v\n%s", d.Facts.Identity, d.Files["/etc/passwd"])
	}
	if !strings.Contains(d.Commands["ip a"].Stdout, "inet "+d.Facts.Hostname.Resolves[0]+"/24") || !strings.Contains(d.Files["/proc/cmdline"], "console="+d.Facts.Hostname.Name) {
		t.Errorf("one host has several names: %s %+v", d.Commands["ip a"].Stdout, d.Facts.Hostname)
	}
	kept := masked(t, nil, list...)
	for _, s := range []string{"hf_abcdefghijk", "wJalrXUtn", "p4ss", "hunter2hunter", "sk-123456"} {
		if strings.Contains(kept, s) {
			t.Errorf("secret %s is kept with the identifiers", s)
		}
	}
	if !strings.Contains(kept, "2102312ABCDEF4000123") || !strings.Contains(kept, "npu-prod-08.corp.example") {
		t.Error("identifiers were to be kept")
	}
}

func TestOneMaskForAFleet(t *testing.T) {
	m := NewMasks()
	a := masked(t, m, Question{Kind: Exec, Args: []string{"ping", "-c", "1", "10.0.0.8"}}, "from 10.0.0.8\n")
	b := masked(t, m, Question{Kind: Hostname}, "name=x\nresolves=10.0.0.8\n")
	addr := m.address(netip.MustParseAddr("10.0.0.8")).String()
	if !strings.Contains(a, "ping -c 1 "+addr) || !strings.Contains(b, addr) {
		t.Errorf("%s\n%s", a, b)
	}
	codes := map[string]bool{}
	for _, v := range []string{"A1B2C3D4E5", "A1B2C3D4E6", "2102312ABC-01", "zz99zz99"} {
		c := m.code(v)
		if codes[c] || c == v || len(c) != len(v) || c != m.code(v) {
			t.Errorf("%s became %s", v, c)
		}
		codes[c] = true
	}
	if !bytes.ContainsAny([]byte(m.code("2102312ABC-01")), "-") {
		t.Error("the look of a serial number is lost")
	}
}
