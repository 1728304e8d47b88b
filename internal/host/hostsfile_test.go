package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/report"
)

const ownHosts = `# the fleet
version: 1
defaults: {user: root, port: 22, identity: ~/.ssh/id_ed25519, sudo: auto}
jumps:
  gw: {address: bastion.example.org, user: ops, jump: outer}
  outer: {address: "[2001:db8::1]", port: 2222}
hosts:
  npu01: {address: 192.0.2.11, labels: {chip: a2, rack: r1}}
  npu02: {address: 192.0.2.12, jump: gw, user: deploy, password_env: NPU02_PASSWORD, sudo_password_env: NPU02_SUDO}
  npu[03-10]: {address: "192.0.2.[13-20]", labels: {chip: a2}}
  node[1-2].example.org: {sudo: never, lang: zh, managed: [driver, firmware], product: Atlas 300I Duo, install_path: /opt/Ascend}
groups:
  prefill: {hosts: [npu01, npu02], set: {tmpdir: /data/tmp, size: 4}}
  a2: {match: {chip: a2}, port: 2022, set: {tmpdir: /tmp}}
  range: {hosts: ["npu[04-05]"], port: 2023}
`

func TestHostsFile(t *testing.T) {
	h, err := LoadHosts("hosts.yaml", []byte(ownHosts))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.Names(), " "); got != "npu01 npu02 npu03 npu04 npu05 npu06 npu07 npu08 npu09 npu10 node1.example.org node2.example.org" {
		t.Error(got)
	}
	key := "~/.ssh/id_ed25519"
	for _, want := range []Target{
		{Name: "npu01", Address: "192.0.2.11", Port: 2022, User: "root", Identity: key, Sudo: "auto",
			Labels: map[string]string{"chip": "a2", "rack": "r1"}, Set: map[string]string{"tmpdir": "/tmp", "size": "4"}},
		{Name: "npu02", Address: "192.0.2.12", Port: 22, User: "deploy", Identity: key, Sudo: "auto", PasswordEnv: "NPU02_PASSWORD", SudoPasswordEnv: "NPU02_SUDO",
			Jump: []Jump{{Name: "outer", Address: "2001:db8::1", Port: 2222}, {Name: "gw", Address: "bastion.example.org", User: "ops"}},
			Set:  map[string]string{"tmpdir": "/data/tmp", "size": "4"}},
		{Name: "npu04", Address: "192.0.2.14", Port: 2023, User: "root", Identity: key, Sudo: "auto", Labels: map[string]string{"chip": "a2"}, Set: map[string]string{"tmpdir": "/tmp"}},
		{Name: "npu10", Address: "192.0.2.20", Port: 2022, User: "root", Identity: key, Sudo: "auto", Labels: map[string]string{"chip": "a2"}, Set: map[string]string{"tmpdir": "/tmp"}},
		{Name: "node2.example.org", Address: "node2.example.org", Port: 22, User: "root", Identity: key, Sudo: "never", Lang: "zh", Managed: []string{"driver", "firmware"}, Product: "Atlas 300I Duo", InstallPath: "/opt/Ascend"},
	} {
		got, ok := h.Host(want.Name)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
	}
	for _, c := range []struct {
		group string
		match []string
		want  string // names, or the error
	}{
		{"prefill", nil, "npu01 npu02"},
		{"a2", []string{"rack=r1"}, "npu01"},
		{"", []string{"chip=a2", "rack=r1"}, "npu01"},
		{"range", nil, "npu04 npu05"},
		{"prefil", nil, "no group prefil in hosts.yaml, did you mean prefill"},
		{"all", []string{"chip=a3"}, "no host of hosts.yaml is chosen"},
		{"", []string{"chip"}, "want KEY=VALUE"},
	} {
		got, err := h.Select(c.group, c.match...)
		if err != nil {
			var p *report.Problem
			if !errors.As(err, &p) || p.Exit != report.ExitUsage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %v: %v", c.group, c.match, err)
			}
			continue
		}
		if names := namesOf(got); names != c.want {
			t.Errorf("%s %v: %s, want %s", c.group, c.match, names, c.want)
		}
	}
	if all, err := h.Select(""); err != nil || len(all) != 12 || len(h.Groups()) != 3 {
		t.Errorf("%d hosts, groups %v, %v", len(all), h.Groups(), err)
	}
}

func namesOf(ts []Target) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.Name
	}
	return strings.Join(names, " ")
}

func TestHostsFileMistakesAreNamedByLine(t *testing.T) {
	const head = "version: 1\nhosts:\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "h.yaml:1: the file is empty"},
		{"version", "version: 2\nhosts: {a: {}}\n", "h.yaml:1: version: want 1, got 2"},
		{"no version", "hosts: {a: {}}\n", "version: want 1, got 0"},
		{"unknown key", head + "  a: {adress: 192.0.2.1}\n", "h.yaml:3: unknown key hosts.a.adress, did you mean address"},
		{"unknown section", "version: 1\nhost: {}\n", "h.yaml:2: unknown key host, did you mean hosts"},
		{"password", head + "  a:\n    password: hunter2\n", "h.yaml:4: password: secrets do not belong in this file"},
		{"password of a jump", "version: 1\njumps: {g: {address: x, pass: hunter2}}\n", "h.yaml:2: pass: secrets"},
		{"password as a variable", head + "  a: {password_env: 'hunter2!'}\n", "hosts.a.password_env: want the name of an environment variable, not the password"},
		{"sudo password as a variable", head + "  a: {sudo_password_env: 'p w'}\n", "hosts.a.sudo_password_env: want the name"},
		{"key", head + "  a:\n    identity: |\n      -----BEGIN OPENSSH PRIVATE KEY-----\n", "h.yaml:3: hosts.a.identity: want the path of a key file"},
		{"port", head + "  a: {port: 70000}\n", `hosts.a.port: want 1 to 65535, got "70000"`},
		{"port in words", head + "  a: {port: ssh}\n", `hosts.a.port: want a whole number, got "ssh"`},
		{"user in the address", head + "  a: {address: root@x}\n", "hosts.a.address: want a host name"},
		{"user", head + "  a: {user: 'root:pw'}\n", "hosts.a.user: want a login name"},
		{"sudo", head + "  a: {sudo: maybe}\n", "hosts.a.sudo: want auto, always, never"},
		{"lang", head + "  a: {lang: fr}\n", "hosts.a.lang: want en, zh"},
		{"managed", head + "  a: {managed: [drivers]}\n", "hosts.a.managed: want driver"},
		{"name", head + "  'a b': {}\n", `host "a b": want letters`},
		{"local", head + "  local: {}\n", `host "local"`},
		{"ranges do not pair", head + "  a[1-3]: {address: '192.0.2.[1-2]'}\n", "h.yaml:3: hosts.a[1-3]: 3 names and 2 addresses"},
		{"one address for many", head + "  a[1-3]: {address: 192.0.2.1}\n", "3 names and 1 addresses"},
		{"many addresses for one", head + "  a: {address: '192.0.2.[1-3]'}\n", "1 names and 3 addresses"},
		{"falling range", head + "  a[9-3]: {}\n", "want a range that rises"},
		{"endless range", head + "  a[0-999999999]: {}\n", "want a range that rises by less than 10000"},
		{"two ranges", head + "  a[1-2]b[1-2]: {}\n", "want at most one range"},
		{"too many", head + "  a[0-6000]: {}\n  b[0-6000]: {}\n", "over 10000 hosts"},
		{"twice by range", head + "  a[1-3]: {}\n  a2: {}\n", "h.yaml:4: host a2 stands twice"},
		{"no such jump", "version: 1\njumps: {gate: {address: x}}\nhosts:\n  a: {jump: gat}\n", "h.yaml:4: host a: no jump gat, did you mean gate"},
		{"circle of jumps", "version: 1\njumps:\n  a: {address: x, jump: b}\n  b: {address: y, jump: a}\nhosts: {h: {jump: a}}\n", "h.yaml:3: jump a leads back to itself"},
		{"jump without address", "version: 1\njumps: {a: {user: x}}\nhosts: {h: {}}\n", "jumps.a: address is missing"},
		{"group of nobody", head + "  a: {}\ngroups: {g: {hosts: [aa]}}\n", "h.yaml:4: groups.g: no host aa"},
		{"group without members", head + "  a: {}\ngroups: {g: {port: 1}}\n", "groups.g: want hosts or match"},
		{"address of a group", head + "  a: {}\ngroups: {g: {hosts: [a], address: x}}\n", "address and labels belong to hosts"},
		{"shared address", "version: 1\ndefaults: {address: x}\nhosts: {a: {}}\n", "hosts cannot share an address"},
		{"anchor", "version: 1\nhosts: {a: &x {}, b: *x}\n", "anchors and aliases"},
		{"vault", "version: 1\nhosts:\n  a:\n    user: !vault x\n", "a vaulted value cannot be read"},
		{"large", "version: 1\n#" + strings.Repeat("x", maxHostsFile), "is over 1048576 bytes"},
	} {
		_, err := LoadHosts("h.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the message shows the password: %v", c.name, err)
		}
	}
	_, err := LoadHosts("h.yaml", []byte(head+"  a: {adress: x, prot: 1}\n  b: {port: y}\n"))
	if err == nil || strings.Count(err.Error(), "h.yaml:") != 3 {
		t.Errorf("not all mistakes at once: %v", err)
	}
}

const iniInventory = `# fleet
lonely ansible_host=192.0.2.9 ansible_port=2200
[a2]
npu[01:03] ansible_user=deploy rack=r1
npu02 ansible_user=root  # overrides
db-[a:c]:5309
[a2:vars]
ansible_ssh_private_key_file = ~/.ssh/npu
ansible_ssh_common_args='-o ProxyJump=ops@bastion:2222,inner -o StrictHostKeyChecking=no'
chip=a2
[fleet:children]
a2
[fleet:vars]
ansible_become=yes
chip=any
ansible_become_password="{{ lookup('env', 'SUDO_PW') }}"
`

const yamlInventory = `all:
  vars:
    ansible_user: ops
    ansible_python_interpreter: /usr/bin/python3
  hosts:
    lonely:
  children:
    fleet:
      vars: {ansible_become: true, chip: any}
      children:
        a2:
          hosts:
            npu[01:02]:
              ansible_port: 2222
              ansible_ssh_common_args: -J gw
            npu03: {ansible_host: "2001:db8::3", tags: [x, y]}
          vars:
            chip: a2
            where: "{{ rack }}"
`

func TestInventoryINI(t *testing.T) {
	h, err := LoadHosts("inventory", []byte(iniInventory))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.Names(), " "); got != "lonely npu01 npu02 npu03 db-a db-b db-c" {
		t.Error(got)
	}
	way := []Jump{{Name: "ops@bastion:2222", Address: "bastion", Port: 2222, User: "ops"}, {Name: "inner", Address: "inner"}}
	for _, want := range []Target{
		{Name: "lonely", Address: "192.0.2.9", Port: 2200},
		{Name: "npu01", Address: "npu01", User: "deploy", Identity: "~/.ssh/npu", Jump: way, Sudo: "always", SudoPasswordEnv: "SUDO_PW", Labels: map[string]string{"chip": "a2", "rack": "r1"}},
		{Name: "npu02", Address: "npu02", User: "root", Identity: "~/.ssh/npu", Jump: way, Sudo: "always", SudoPasswordEnv: "SUDO_PW", Labels: map[string]string{"chip": "a2", "rack": "r1"}},
		{Name: "db-c", Address: "db-c", Port: 5309, Identity: "~/.ssh/npu", Jump: way, Sudo: "always", SudoPasswordEnv: "SUDO_PW", Labels: map[string]string{"chip": "a2"}},
	} {
		got, _ := h.Host(want.Name)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
	}
	if fleet, err := h.Select("fleet", "rack=r1"); err != nil || namesOf(fleet) != "npu01 npu02 npu03" {
		t.Errorf("%v %v", namesOf(fleet), err)
	}
	if len(h.Notes) != 1 || !strings.Contains(h.Notes[0].En, "inventory:9: ansible_ssh_common_args: -oStrictHostKeyChecking=no cannot be honoured") {
		t.Errorf("notes: %v", h.Notes)
	}
}

func TestInventoryYAML(t *testing.T) {
	h, err := LoadHosts("inventory.yml", []byte(yamlInventory))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Target{
		{Name: "lonely", Address: "lonely", User: "ops"},
		{Name: "npu02", Address: "npu02", Port: 2222, User: "ops", Sudo: "always", Jump: []Jump{{Name: "gw", Address: "gw"}}, Labels: map[string]string{"chip": "a2"}},
		{Name: "npu03", Address: "2001:db8::3", User: "ops", Sudo: "always", Labels: map[string]string{"chip": "a2"}},
	} {
		got, _ := h.Host(want.Name)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
	}
	var notes []string
	for _, n := range h.Notes {
		notes = append(notes, n.En)
	}
	if got := strings.Join(notes, "\n"); got != "inventory.yml:4: ansible_python_interpreter cannot be honoured\ninventory.yml:19: where is a template and is left out" {
		t.Errorf("%s", got)
	}
	if fleet, err := h.Select("a2"); err != nil || namesOf(fleet) != "npu01 npu02 npu03" {
		t.Errorf("%v %v", namesOf(fleet), err)
	}
}

func TestInventoryMistakesAreNamedByLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nobody", "[a]\n", "names no host"},
		{"vaulted file", "$ANSIBLE_VAULT;1.1;AES256\n3130\n", "h:1: a vaulted file cannot be read"},
		{"vaulted value", "a:\n  hosts:\n    x:\n      ansible_user: !vault |\n        $ANSIBLE_VAULT;1.1;AES256\n", "h:4: a vaulted value cannot be read"},
		{"vaulted value in INI", "x ansible_user=$ANSIBLE_VAULT;1\n", "h:1: ansible_user: a vaulted value cannot be read"},
		{"password", "\nx ansible_password=hunter2\n", "h:2: ansible_password: passwords do not belong in an inventory"},
		{"old password", "[a:vars]\nansible_ssh_pass=hunter2\n[a]\nx\n", "h:2: ansible_ssh_pass: passwords"},
		{"sudo password", "a:\n  hosts:\n    x:\n      ansible_become_pass: hunter2\n", "h:4: ansible_become_pass: passwords"},
		{"templated address", "x ansible_host={{y}}.example\n", "h:1: ansible_host: a template cannot be read"},
		{"section", "[a:hosts]\nx\n", "h:1: want [group]"},
		{"open section", "[a\nx\n", "h:1: want [group]"},
		{"quote", "x a='b\n", "h:1: a quote is not closed"},
		{"no value", "x y\n", `h:1: want key=value, got "y"`},
		{"vars without value", "[a:vars]\nx\n", "h:2: want key=value"},
		{"no such group", "[a:children]\nbb\n[b]\nx\n", "h:1: group a: no group bb, did you mean b"},
		{"circle", "[a:children]\nb\n[b:children]\na\n[b]\nx\n", "is among its own children"},
		{"endless range", "x[0:999999999]\n", "want a range that rises by less than"},
		{"ranges multiply", "x[0:999]y[0:999]\n", "ranges name over 10000 hosts"},
		{"mixed range", "x[1:c]\n", "want a range that rises"},
		{"port", "x ansible_port=99999\n", `ansible_port: want 1 to 65535, got "99999"`},
		{"become", "x ansible_become=maybe\n", "ansible_become: want true or false"},
		{"jump", "x ansible_ssh_common_args='-J a:b'\n", "want a port of 1 to 65535"},
		{"name", "x/y\n", `host "x/y": want letters`},
		{"unknown key", "a:\n  host:\n    x:\n", "h:2: unknown key host, did you mean hosts"},
		{"list", "a:\n  hosts: [x]\n", "h:2: want a mapping, got a list"},
	} {
		_, err := LoadHosts("h", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the message shows the password: %v", c.name, err)
		}
	}
	h, err := LoadHosts("h", []byte("x ansible_connection=local ansible_become_method=su ansible_foo=1\n"))
	if err != nil || len(h.Notes) != 3 {
		t.Errorf("%v %v", err, h)
	}
}

func TestJumpWords(t *testing.T) {
	for _, c := range []struct {
		word string
		want Jump
	}{
		{"gw", Jump{Address: "gw"}}, {"u@gw:22", Jump{Address: "gw", User: "u", Port: 22}}, {"[2001:db8::1]:22", Jump{Address: "2001:db8::1", Port: 22}},
		{"2001:db8::1", Jump{Address: "2001:db8::1"}}, {"ssh://u@gw", Jump{Address: "gw", User: "u"}},
	} {
		c.want.Name = strings.TrimPrefix(c.word, "ssh://")
		if got, wrong := jumpFrom(c.word); !wrong.IsZero() || got != c.want {
			t.Errorf("%s: %+v %v", c.word, got, wrong)
		}
	}
	for _, bad := range []string{"", "u@", "gw:0", "gw:x", "u:p@gw"} {
		if got, wrong := jumpFrom(bad); wrong.IsZero() {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func FuzzHosts(f *testing.F) {
	for _, seed := range []string{ownHosts, iniInventory, yamlInventory, "[a:vars]\nx=[1:2]\n", "x[a:z:3][01:02] k='v w'\n", "version: 1\nhosts: {a[1-2]: {address: 'b[3-4]'}}\n", "a: {hosts: {x: {ansible_ssh_common_args: '-o ProxyJump=a,b@c'}}}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := LoadHosts("fuzz", data)
		if err != nil {
			var p *report.Problem
			if !errors.As(err, &p) || p.Exit != report.ExitUsage || p.Why.Zh == "" {
				t.Fatalf("%v is no problem of use", err)
			}
			return
		}
		all, err := h.Select("")
		for _, target := range all {
			if target.Address == "" || target.Name == "" {
				t.Fatalf("%+v", target)
			}
		}
		if len(all) > maxTargets || err == nil && len(all) == 0 {
			t.Fatal(fmt.Sprint(len(all), err))
		}
	})
}
