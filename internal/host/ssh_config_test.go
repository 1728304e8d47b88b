package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/report"
)

func TestParseTarget(t *testing.T) {
	for word, want := range map[string]Target{
		"local":                {Name: "local"},
		"replay:a b.yaml":      {Name: "replay:a b.yaml"},
		"npu01":                {Name: "npu01", Address: "npu01"},
		"root@npu01":           {Name: "root@npu01", User: "root", Address: "npu01"},
		"root@npu01:2222":      {Name: "root@npu01:2222", User: "root", Address: "npu01", Port: 2222},
		"192.0.2.1:22":         {Name: "192.0.2.1:22", Address: "192.0.2.1", Port: 22},
		"2001:db8::1":          {Name: "2001:db8::1", Address: "2001:db8::1"},
		"u@[2001:db8::1]":      {Name: "u@[2001:db8::1]", User: "u", Address: "2001:db8::1"},
		"u@[fe80::1%eth0]:220": {Name: "u@[fe80::1%eth0]:220", User: "u", Address: "fe80::1%eth0", Port: 220},
		"user@corp@npu01":      {Name: "user@corp@npu01", User: "user@corp", Address: "npu01"},
		"localhost":            {Name: "localhost", Address: "localhost"},
	} {
		got, err := ParseTarget(word)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", word, err, diff)
		}
	}
	for _, word := range []string{"", "@npu01", "root@", "npu01:", "npu01:0", "npu01:65536", "npu01:ssh", "-oProxyCommand=x",
		"u@-x", "[::1", "[npu01]:22", "[::1]22", "a:b:c", "npu 01", "npu01\n", "replay:", ":22"} {
		var p *report.Problem
		if got, err := ParseTarget(word); !errors.As(err, &p) || p.Exit != report.ExitUsage {
			t.Errorf("%q: %+v, %v", word, got, err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"local", "root@npu01:22", "[::1]:22", "a:b:c", "u@[fe80::1%e]", "replay:x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		got, err := ParseTarget(word)
		if err != nil {
			return
		}
		if got.Name != word || got.Port < 0 || got.Port > 65535 || strings.HasPrefix(got.Address, "-") {
			t.Errorf("%q: %+v", word, got)
		}
	})
}

const sshConfigText = `Host npu01
  HostName 192.0.2.11
  User deploy
  Port 2201
  IdentityFile ~/.ssh/%h.key
  ProxyJump gw

Host gw
  HostName bastion.example.org
  ProxyJump ops@outer:2022
  UserKnownHostsFile ~/.ssh/known_gw /etc/known

Host two
  ProxyJump gw,inner

Host loop
  ProxyJump pool
Host pool
  ProxyJump loop

Host command
  ProxyCommand nc %h %p
Host badport
  Port ssh
Host none
  ProxyJump none

Host *
  User everybody
`

func configured(t *testing.T, text string) *Options {
	t.Helper()
	home := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(home, ".ssh"), 0o700), os.WriteFile(filepath.Join(home, ".ssh", "config"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return &Options{Home: home, User: "me"}
}

func TestRouteFollowsSSHConfig(t *testing.T) {
	o := configured(t, sshConfigText)
	for word, want := range map[string]string{
		"npu01":           "ops@outer:2022 everybody@bastion.example.org:22 deploy@192.0.2.11:2201",
		"root@npu01:22":   "ops@outer:2022 everybody@bastion.example.org:22 root@192.0.2.11:22",
		"two":             "ops@outer:2022 everybody@bastion.example.org:22 everybody@inner:22 everybody@two:22",
		"none":            "everybody@none:22",
		"2001:db8::1":     "everybody@[2001:db8::1]:22",
		"someone@example": "someone@example:22",
	} {
		tg, err := ParseTarget(word)
		if err != nil {
			t.Fatal(err)
		}
		way, err := route(tg, o)
		var got []string
		for _, h := range way {
			got = append(got, h.user+"@"+h.dial())
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %q, %v", word, got, err)
		}
	}
	way, _ := route(Target{Name: "npu01", Address: "npu01", Identity: "~/k"}, o)
	last, gw := way[len(way)-1], way[1]
	if last.identity != o.Home+"/k" || last.keys[0] != o.Home+"/.ssh/192.0.2.11.key" || gw.known[0] != o.Home+"/.ssh/known_gw" || gw.known[1] != "/etc/known" {
		t.Errorf("%+v\n%+v", last, gw)
	}
	for word, why := range map[string]string{"loop": "more than", "command": "ProxyCommand", "badport": "1 to 65535"} {
		_, err := route(Target{Name: word, Address: word}, o)
		var p *report.Problem
		if !errors.As(err, &p) || p.Exit != report.ExitUsage || !strings.Contains(p.Why.En, why) || !strings.Contains(p.What.Zh, ".ssh/config") {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// The hosts file says more than ssh_config, and its jumps win.
func TestRouteOfAHostsFile(t *testing.T) {
	o := configured(t, sshConfigText)
	way, err := route(Target{Name: "a", Address: "npu01", Port: 1, User: "u",
		Jump: []Jump{{Name: "gw", Address: "gw", User: "j"}, {Name: "far", Address: "192.0.2.9", Port: 3}}}, o)
	var got []string
	for _, h := range way {
		got = append(got, fmt.Sprintf("%s=%s@%s", h.name, h.user, h.dial()))
	}
	if want := "gw=j@bastion.example.org:22 far=everybody@192.0.2.9:3 a=u@192.0.2.11:1"; strings.Join(got, " ") != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSSHConfigThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"match exec":   "Host a\n  Port 1\nMatch exec true\n  Port 2\n",
		"no value":     "Host a\n  Port\n",
		"not a file":   "\x00\xff\xfe",
		"include self": "Include config\n",
	} {
		o := configured(t, text)
		_, err := route(Target{Name: "a", Address: "a"}, o)
		var p *report.Problem
		if err != nil && !errors.As(err, &p) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "match exec" && (p == nil || !strings.Contains(p.Why.En, "Match Exec")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := route(Target{Name: "a", Address: "a"}, &Options{User: "u", Config: "/no/such/config"}); err == nil {
		t.Error("a config that was named and is not there")
	}
	if way, err := route(Target{Name: "a", Address: "a"}, &Options{User: "u", Config: "none"}); err != nil || way[0].addr != "a" {
		t.Errorf("none: %v", err)
	}
	if _, err := route(Target{Name: "a", Address: "a"}, &Options{}); err == nil {
		t.Error("no login name")
	}
}

func FuzzSSHConfig(f *testing.F) {
	f.Add(sshConfigText)
	f.Add("Host *\nPort 0\nProxyJump a,b@c:1,[::1]\n")
	f.Add("Match host a\nHostName %h%%%\nInclude x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return // reads files of this machine
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		way, err := route(Target{Name: "a", Address: "a"}, &Options{User: "u", Config: file})
		if err == nil && len(way) > 1+maxHops*len(text) {
			t.Errorf("%d hops", len(way))
		}
	})
}
