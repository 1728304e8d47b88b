package cann_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/report"
)

func TestMovesSayWhatAShellWillLose(t *testing.T) {
	s := cann.Setup{Foreign: []string{"/old"}, Vars: []cann.Var{
		{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "C", Value: "3", Default: true},
		{Name: "PATH", Front: []string{"/n/bin"}}, {Name: "LD_LIBRARY_PATH", Front: []string{"/n/lib"}},
	}}
	var got []string
	for _, m := range s.Moves(map[string]string{"B": "2", "C": "mine", "PATH": "/n/bin:/bin", "LD_LIBRARY_PATH": "/old/lib:/mine:/older:/old/lib"}) {
		got = append(got, strings.TrimSpace(m.Act+" "+m.Name+" "+m.Value+strings.Join(m.Drop, " ")))
	}
	want := []string{"set A 1", "keep B 2", "keep C mine", "keep PATH /n/bin:/bin", "set LD_LIBRARY_PATH /n/lib:/mine:/older", "drop LD_LIBRARY_PATH /old/lib"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWhatNoEnvironmentCanHoldIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		v     cann.Var
		shell bool // a shell can hold it
		want  string
	}{
		"a line break":        {cann.Var{Name: "A", Value: "x\ny"}, true, "line break"},
		"a NUL":               {cann.Var{Name: "A", Value: "x\x00y"}, false, "NUL"},
		"a name":              {cann.Var{Name: "A B", Value: "x"}, false, "no name"},
		"a name with a digit": {cann.Var{Name: "1A", Value: "x"}, false, "no name"},
		"a command as name":   {cann.Var{Name: "A;id", Value: "x"}, false, "no name"},
		"a colon":             {cann.Var{Name: "PATH", Front: []string{"/a:b"}}, false, "colon"},
		"an empty folder":     {cann.Var{Name: "PATH", Front: []string{""}}, false, "colon"},
	} {
		t.Run(name, func(t *testing.T) {
			s := cann.Setup{Vars: []cann.Var{c.v}}
			_, file := s.File(nil)
			_, sh := s.Sh()
			_, fish := s.Fish()
			if (sh == nil) != c.shell || (fish == nil) != c.shell {
				t.Errorf("sh %v, fish %v", sh, fish)
			}
			var p *report.Problem
			if !errors.As(file, &p) || !strings.Contains(p.Why.En, c.want) || p.Do.IsZero() {
				t.Errorf("file: %v", file)
			}
		})
	}
	inherited := cann.Setup{Vars: []cann.Var{{Name: "PATH", Front: []string{"/a"}}}}
	if _, err := inherited.File(map[string]string{"PATH": "/x\n/y"}); err == nil {
		t.Error("a line break of before came through")
	}
}

func TestForeignIsEveryOtherTreeAndBuild(t *testing.T) {
	old := cann.Tree{Path: "/a/ascend-toolkit/8.1.RC1"}
	tree := cann.Tree{Path: "/a/cann-9.1.0", Active: "/a/cann"}
	atb := cann.NNAL{Path: "/a/nnal/atb/9.1.0", Active: true}
	in := cann.Installed{Trees: []cann.Tree{old, tree}, NNAL: []cann.NNAL{{Path: "/a/nnal/atb/8.1.RC1"}, atb},
		Links: []cann.Link{{Path: "/a/ascend-toolkit/latest", Real: old.Path}, {Path: "/a/cann", Real: tree.Path}, {Path: "/a/compat", Real: tree.Path}}}
	got := in.Foreign(tree, cann.Needs{NNAL: &atb, ABI: 1})
	want := []string{"/a/ascend-toolkit/8.1.RC1", "/a/ascend-toolkit/latest", "/a/nnal/atb/8.1.RC1", "/a/nnal/atb/latest/atb/cxx_abi_0"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestEveryVariableSaysWhyAndFromWhichFile(t *testing.T) {
	tree := cann.Tree{Path: "/a/cann-9.1.0", Layout: "8.5", Version: "9.1.0", Info: "/a/cann-9.1.0/x86_64-linux/ascend_toolkit_install.info"}
	n := cann.Needs{Driver: "/a/driver", NNAL: &cann.NNAL{Path: "/a/nnal/atb/9.1.0", Info: "/a/nnal/atb/9.1.0/version.info"}, Defaults: []cann.Var{{Name: "D", Value: "{HOME}"}}, Home: "/h"}
	vars := cann.Env(tree, n)
	if len(vars) != 11 {
		t.Errorf("%d variables", len(vars))
	}
	for _, v := range vars {
		if v.Why.IsZero() || len(v.From) == 0 {
			t.Errorf("%s: why %v, from %v", v.Name, v.Why, v.From)
		}
		if v.Name == "LD_LIBRARY_PATH" && len(v.From) != 3 {
			t.Errorf("%v", v.From)
		}
		if v.Name == "D" && (v.Value != "/h" || !v.Default) {
			t.Errorf("%+v", v)
		}
	}
}

// FuzzSh: whatever a value, a folder or a foreign folder holds, dash reads it
// as Over has it and runs nothing.
func FuzzSh(f *testing.F) {
	for _, s := range []string{"", "a", "'", "''", `\`, `"`, "$(exit 3)", "`exit 3`", "a\nb", "*", "|", "/x/*", ")", ";exit 3", "#", "-n", "\xff", "é"} {
		f.Add(s, "/n/"+s, "/o"+s)
		f.Add(s, "/n", s)
	}
	f.Fuzz(func(t *testing.T, value, folder, foreign string) {
		s := cann.Setup{Foreign: []string{foreign}, Vars: []cann.Var{{Name: "A", Value: value}, {Name: "PYTHONPATH", Front: []string{folder}}}}
		if _, err := s.Sh(); err != nil {
			return
		}
		base := map[string]string{"PATH": "/bin", "PYTHONPATH": "/o/p::" + foreign + "/q:/r"}
		once, twice := after(t, "dash", written(t, s, "dash"), base)
		for _, got := range []map[string]string{once, twice} {
			if d := cmp.Diff(s.Over(base), got); d != "" {
				t.Fatal(d)
			}
		}
	})
}

func box() cann.Container {
	return cann.Container{Name: "ascend", Image: "quay.io/ascend/vllm-ascend:v0.23.0", Command: []string{"vllm", "serve", "/models/a b"},
		Devices: append(cann.Devices([]int{0, 4}, false), cann.Devices([]int{100}, true)...),
		Nodes:   []string{"/dev/davinci_manager", "/dev/hisi_hdc"}, Mounts: []string{"/usr/local/dcmi", "/etc/it's"},
		Shm: "1g", HostNetwork: true, Env: []cann.Var{{Name: "A", Value: "$x"}}}
}

func TestDockerLineCanBePasted(t *testing.T) {
	want := `docker run --rm -it --name ascend --shm-size=1g --net=host \
  --device /dev/davinci0 --device /dev/davinci4 --device /dev/vdavinci100:/dev/davinci100 \
  --device /dev/davinci_manager --device /dev/hisi_hdc \
  -v /usr/local/dcmi:/usr/local/dcmi:ro \
  -v '/etc/it'\''s:/etc/it'\''s:ro' \
  -e 'A=$x' \
  quay.io/ascend/vllm-ascend:v0.23.0 \
  vllm serve '/models/a b'`
	if d := cmp.Diff(want, box().Paste()); d != "" {
		t.Error(d)
	}
	out, err := exec.Command("sh", "-c", "docker() { printf '%s\\n' \"$@\"; }\n"+box().Paste()).Output()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, group := range box().Docker() {
		words = append(words, group...)
	}
	if d := cmp.Diff(strings.Join(words[1:], "\n")+"\n", string(out)); d != "" {
		t.Error(d)
	}
}

func TestCDIFileIsWhatTheInterfaceReads(t *testing.T) {
	var file map[string]any
	if err := yaml.Unmarshal([]byte(box().CDI()), &file); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range file["devices"].([]any) {
		names = append(names, d.(map[string]any)["name"].(string))
	}
	if d := cmp.Diff([]string{"0", "4", "100", "all"}, names); d != "" || file["kind"] != "huawei.com/npu" || file["cdiVersion"] != "0.5.0" {
		t.Errorf("%s %v", d, file)
	}
	mounts := file["containerEdits"].(map[string]any)["mounts"].([]any)
	last := mounts[1].(map[string]any)
	if last["hostPath"] != "/etc/it's" || len(last["options"].([]any)) != 4 || len(file["containerEdits"].(map[string]any)["deviceNodes"].([]any)) != 2 {
		t.Errorf("%v", file)
	}
	virtual := file["devices"].([]any)[2].(map[string]any)["containerEdits"].(map[string]any)["deviceNodes"].([]any)[0].(map[string]any)
	if virtual["path"] != "/dev/davinci100" || virtual["hostPath"] != "/dev/vdavinci100" {
		t.Errorf("%v", virtual)
	}
}
