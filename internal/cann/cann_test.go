package cann

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// disk is a host's files: path to content, links as "-> target".
type disk map[string]string

// list answers the patterns as a host would, links followed.
func (d disk) list(homes ...string) *Listing {
	l := NewListing()
	all := d.everything()
	ask := func(pattern string) {
		var found []string
		for _, p := range all {
			if ok, _ := path.Match(pattern, p); ok {
				found = append(found, p)
			}
		}
		l.Add(pattern, found)
	}
	for _, root := range []string{"/usr/local/Ascend", "/home/*/Ascend"} {
		for _, pattern := range Patterns(root) {
			ask(pattern)
		}
	}
	l.Homes = homes
	w := l.Want()
	for _, home := range homes {
		more := WantHome(home, "aarch64")
		w.Globs, w.Texts, w.Links, w.Modes = append(w.Globs, more.Globs...), append(w.Texts, more.Texts...), append(w.Links, more.Links...), append(w.Modes, more.Modes...)
	}
	for _, pattern := range w.Globs {
		ask(pattern)
	}
	for _, p := range w.Texts {
		if text, ok := d[d.follow(p)]; ok {
			l.Text[p] = text
		}
	}
	for _, p := range w.Links {
		if target, ok := strings.CutPrefix(d[p], "-> "); ok {
			l.Links[p] = target
		}
	}
	for _, p := range w.Modes {
		if _, ok := d[d.follow(p)]; ok {
			l.Modes[p] = File{Path: p, Mode: "0644"}
		}
	}
	return l
}

// everything are all paths, also those seen through a link to a folder.
func (d disk) everything() (out []string) {
	seen := map[string]bool{}
	add := func(p string) {
		for ; p != "/"; p = path.Dir(p) {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	for p := range d {
		add(p)
	}
	for p, text := range d {
		if strings.HasPrefix(text, "-> ") {
			real := d.follow(p)
			for q := range d {
				if below, ok := strings.CutPrefix(q, real+"/"); ok && real != p {
					add(p + "/" + below)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func (d disk) follow(p string) string {
	for range 8 {
		done := true
		for at := p; at != "/" && at != "."; at = path.Dir(at) {
			if target, ok := strings.CutPrefix(d[at], "-> "); ok {
				if !path.IsAbs(target) {
					target = path.Join(path.Dir(at), target)
				}
				p, done = target+strings.TrimPrefix(p, at), false
				break
			}
		}
		if done {
			break
		}
	}
	return p
}

const info = "package_name=Ascend-cann-toolkit\nversion=%V\ninnerversion=V100R001C21SPC001B238\ncompatible_version=[V100R001C15],[V100R001C21]\narch=aarch64\n"

func infoOf(version string) string { return strings.ReplaceAll(info, "%V", version) }

func old() disk {
	const at = "/usr/local/Ascend/ascend-toolkit/"
	return disk{
		at + "8.1.RC1/aarch64-linux/ascend_toolkit_install.info":                        infoOf("8.1.RC1"),
		at + "8.1.RC1/runtime/version.info":                                             "Version=7.7.0.1.238\nversion_dir=8.1.RC1\nrequired_driver_ascendhal_version=4.0.0\nrequired_package_opp_kernel_version=\">=7.6, <=7.7\"\n",
		at + "8.1.RC1/opp_kernel/version.info":                                          "Version=7.7.0.1.238\nversion_dir=8.1.RC1\n",
		at + "8.1.RC1/opp/built-in/op_impl/ai_core/tbe/kernel/config/ascend910b/a.json": "{}",
		at + "8.1.RC1/opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b/a.o":           "",
		at + "8.1.RC1/set_env.sh":                                                       "",
		at + "8.1.RC1/bin/atc":                                                          "",
		at + "8.1":                                                                      "-> ./8.1.RC1",
		at + "set_env.sh":                                                               "",
		at + "latest/version.cfg":                                                       "# version: 1.0\nruntime_running_version=[7.7.0.1.238:8.1.RC1]\nopp_kernel_running_version=[7.7.0.1.238:8.1.RC1]\n",
		at + "latest/runtime":                                                           "-> ../8.1.RC1/runtime",
		at + "latest/opp":                                                               "-> ../8.1.RC1/opp",
		at + "latest/aarch64-linux":                                                     "-> ../8.1.RC1/aarch64-linux",
		"/usr/local/Ascend/nnal/atb/8.1.RC1/version.info":                               "Ascend-cann-atb : 8.1.RC1\nAscend-cann-atb Version : 8.1.RC1.B150\nPlatform : aarch64\n",
		"/usr/local/Ascend/nnal/atb/8.1.RC1/atb/cxx_abi_0/lib/libatb.so":                "",
		"/usr/local/Ascend/nnal/atb/8.1.RC1/atb/cxx_abi_1/lib/libatb.so":                "",
		"/usr/local/Ascend/nnal/atb/latest":                                             "-> ./8.1.RC1",
		"/usr/local/Ascend/nnal/atb/set_env.sh":                                         "",
	}
}

func TestTheTreeOfUpTo83(t *testing.T) {
	in := Read(old().list())
	if len(in.Trees) != 1 {
		t.Fatalf("%d trees: %+v", len(in.Trees), in)
	}
	got := in.Trees[0]
	want := Tree{Path: "/usr/local/Ascend/ascend-toolkit/8.1.RC1", Kind: "toolkit", Layout: "8.3", Active: "/usr/local/Ascend/ascend-toolkit/latest",
		Version: "8.1.RC1", Inner: "V100R001C21SPC001B238", Arch: "aarch64",
		Info:       "/usr/local/Ascend/ascend-toolkit/8.1.RC1/aarch64-linux/ascend_toolkit_install.info",
		Compatible: []string{"V100R001C15", "V100R001C21"},
		Components: map[string]Component{
			"runtime":    {"7.7.0.1.238", "8.1.RC1", map[string]string{"driver_ascendhal_version": "4.0.0", "package_opp_kernel_version": ">=7.6, <=7.7"}},
			"opp_kernel": {Version: "7.7.0.1.238", VersionDir: "8.1.RC1"},
		},
		Running: map[string]string{"runtime": "7.7.0.1.238:8.1.RC1", "opp_kernel": "7.7.0.1.238:8.1.RC1"},
		Kernels: []string{"ascend910b"},
		Files: []File{{Path: "/usr/local/Ascend/ascend-toolkit/8.1.RC1/set_env.sh", Mode: "0644"},
			{Path: "/usr/local/Ascend/ascend-toolkit/8.1.RC1/bin/atc", Mode: "0644"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	wantNNAL := []NNAL{{Path: "/usr/local/Ascend/nnal/atb/8.1.RC1", Version: "8.1.RC1", Active: true, ABIs: []int{0, 1},
		SetEnv: "/usr/local/Ascend/nnal/atb/set_env.sh", Info: "/usr/local/Ascend/nnal/atb/8.1.RC1/version.info", Arch: "aarch64"}}
	if d := cmp.Diff(wantNNAL, in.NNAL); d != "" {
		t.Errorf("nnal (-want +got)\n%s", d)
	}
}

func TestTheTreeFrom85On(t *testing.T) {
	for _, version := range []string{"8.5.0", "9.0.0-beta.1"} {
		at := "/usr/local/Ascend/cann-" + version
		d := disk{
			at + "/aarch64-linux/ascend_toolkit_install.info":                          infoOf(version),
			at + "/aarch64-linux/ascend_ops_install.info":                              "version=" + version + "\n",
			at + "/share/info/runtime/version.info":                                    "Version=8.5.0.2.220\nversion_dir=" + version + "\n",
			at + "/opp/built-in/op_impl/ai_core/tbe/kernel/config/ascend910_93/a.json": "{}",
			at + "/set_env.sh":                            "",
			"/usr/local/Ascend/cann":                      "-> cann-" + version,
			"/usr/local/Ascend/ascend-toolkit/latest":     "-> ../cann-" + version,
			"/usr/local/Ascend/ascend-toolkit/set_env.sh": "",
		}
		in := Read(d.list())
		if len(in.Trees) != 1 || len(in.Links) != 2 {
			t.Fatalf("%s: %+v", version, in)
		}
		tree := in.Trees[0]
		if tree.Version != version || tree.OpsVersion != version || tree.Layout != "8.5" || tree.Active != "/usr/local/Ascend/cann" ||
			!slices.Equal(tree.Kernels, []string{"ascend910_93"}) || tree.Components["runtime"].VersionDir != version || len(tree.Dangling) > 0 {
			t.Errorf("%s: %+v", version, tree)
		}
		for _, l := range in.Links {
			if l.Real != at || l.Version != version {
				t.Errorf("%+v", l)
			}
		}
		for _, p := range []string{at, "/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest/", at + "/"} {
			if got, ok := in.At(p); !ok || got.Path != at {
				t.Errorf("At(%s) = %+v, %t", p, got, ok)
			}
		}
		if got, ok := in.Holds("/usr/local/Ascend/ascend-toolkit/latest/lib64/plugin"); !ok || got.Path != at {
			t.Errorf("Holds: %+v, %t", got, ok)
		}
		if _, ok := in.Holds("/usr/local/Ascend/driver/lib64"); ok {
			t.Error("the driver lies in a tree of CANN")
		}
	}
}

func TestLinksThatLeadNowhere(t *testing.T) {
	d := old()
	const at = "/usr/local/Ascend/ascend-toolkit/"
	d[at+"latest/hccl"] = "-> ../8.1.RC1/hccl"
	if in := Read(d.list()); !slices.Equal(in.Trees[0].Dangling, []string{at + "latest/hccl"}) {
		t.Errorf("dangling %v, want latest/hccl", in.Trees[0].Dangling)
	}
	d["/usr/local/Ascend/cann"] = "-> cann-9.0.0"
	d["/usr/local/Ascend/nnal/atb/latest"] = "-> ./9.0.0"
	in := Read(d.list())
	i := slices.IndexFunc(in.Links, func(l Link) bool { return l.Path == "/usr/local/Ascend/cann" })
	if i < 0 || in.Links[i].Real != "" || in.Links[i].Target != "cann-9.0.0" {
		t.Errorf("links %+v, want cann to lead nowhere", in.Links)
	}
	if !slices.ContainsFunc(in.NNAL, func(n NNAL) bool { return n.Dangles }) || slices.ContainsFunc(in.NNAL, func(n NNAL) bool { return n.Active }) {
		t.Errorf("nnal %+v, want latest to dangle and none active", in.NNAL)
	}
}

func TestTwoTreesAndOneOfAPerson(t *testing.T) {
	d := old()
	d["/home/ml/Ascend/ascend-toolkit/7.0.0/aarch64-linux/ascend_toolkit_install.info"] = infoOf("7.0.0")
	d["/home/ml/Ascend/ascend-toolkit/latest/aarch64-linux"] = "-> ../7.0.0/aarch64-linux"
	d["/usr/local/Ascend/nnrt/8.0.0/aarch64-linux/ascend_nnrt_install.info"] = infoOf("8.0.0")
	in := Read(d.list())
	got := map[string]string{}
	for _, tree := range in.Trees {
		got[tree.Path] = strings.TrimSpace(tree.Kind + " " + tree.Version + " " + map[bool]string{true: "user"}[tree.User])
	}
	want := map[string]string{"/home/ml/Ascend/ascend-toolkit/7.0.0": "toolkit 7.0.0 user",
		"/usr/local/Ascend/ascend-toolkit/8.1.RC1": "toolkit 8.1.RC1", "/usr/local/Ascend/nnrt/8.0.0": "nnrt 8.0.0"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestATreeThatOnlyTheEnvironmentNames(t *testing.T) {
	const home = "/data/cann-8.5.0"
	d := disk{home + "/aarch64-linux/ascend_toolkit_install.info": infoOf("8.5.0"), home + "/set_env.sh": ""}
	in := Read(d.list(home))
	if len(in.Trees) != 1 || in.Trees[0].Path != home || in.Trees[0].Active != home || in.Trees[0].Version != "8.5.0" {
		t.Errorf("%+v", in)
	}
	if in := Read(old().list("/usr/local/Ascend/ascend-toolkit/latest")); len(in.Trees) != 1 {
		t.Errorf("a tree that was found already is read twice: %+v", in.Trees)
	}
}

func TestALinkInACircleEnds(t *testing.T) {
	l := NewListing()
	l.Add("/usr/local/Ascend/cann*", []string{"/usr/local/Ascend/cann", "/usr/local/Ascend/cann-1"})
	l.Links["/usr/local/Ascend/cann"], l.Links["/usr/local/Ascend/cann-1"] = "cann-1", "cann"
	if in := Read(l); len(in.Trees) != 0 || len(in.Links) != 1 || in.Links[0].Real != "" {
		t.Errorf("%+v", in)
	}
}

// FuzzRead feeds one text as every info file, and its lines as paths and links.
func FuzzRead(f *testing.F) {
	f.Add("version=8.1.RC1\ncompatible_version=[V100R001C15],[[\n", "../8.1.RC1", "/usr/local/Ascend/ascend-toolkit/latest")
	f.Add("Ascend-cann-atb : 8.1\nVersion=\x00", "/", "/usr/local/Ascend/nnal/atb/x/atb/cxx_abi_9999999999999999999")
	f.Add("runtime_running_version=[a:b]", "latest/../../..", "///")
	f.Fuzz(func(t *testing.T, text, target, extra string) {
		l := old().list("/x")
		l.Add("/usr/local/Ascend/ascend-toolkit/*", []string{extra, "/usr/local/Ascend/ascend-toolkit/" + extra})
		for p := range l.Text {
			l.Text[p] = text
		}
		for _, p := range l.Paths() {
			if strings.HasSuffix(p, "latest") || p == extra {
				l.Links[p] = target
			}
		}
		l.Want()
		in := Read(l)
		in.Holds(extra)
	})
}
