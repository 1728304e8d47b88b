package install

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

//go:embed fetch_pip.py
var pipForOthers string

// Network is how this machine reaches what it downloads, without secrets, for
// the plan that people read. Empty fields are not set.
type Network struct {
	From       string   `json:"from,omitempty"`
	HTTPProxy  string   `json:"http_proxy,omitempty"`
	HTTPSProxy string   `json:"https_proxy,omitempty"`
	NoProxy    []string `json:"no_proxy,omitempty"`
	Index      string   `json:"index,omitempty"` // pip's; empty: the one built into pip
	Extra      []string `json:"extra_index,omitempty"`
	Links      []string `json:"find_links,omitempty"`
	Trusted    []string `json:"trusted_host,omitempty"`
	PipProxy   string   `json:"pip_proxy,omitempty"`
	Cert       string   `json:"cert,omitempty"`
}

// Network reads the proxies and the configuration of pip. A machine without pip
// has none: that is no error here.
func (f *Fetcher) Network(ctx context.Context) (Network, error) {
	if err := f.begin(ctx); err != nil {
		return Network{}, f.problem(ctx, err)
	}
	n := Network{From: f.From, NoProxy: f.via.except}
	if isWeb(f.From) {
		n.From = f.shown(f.From)
	}
	if f.via.http != nil {
		n.HTTPProxy = f.shown(f.via.http.String())
	}
	if f.via.https != nil {
		n.HTTPSProxy = f.shown(f.via.https.String())
	}
	c := f.pipConfig(ctx)
	one := func(key string) string { return f.shown(strings.Join(c[key], " ")) }
	many := func(key string) (out []string) {
		for _, v := range c[key] {
			out = append(out, f.shown(v))
		}
		return out
	}
	n.Index, n.Extra, n.Links = one("index-url"), many("extra-index-url"), many("find-links")
	n.Trusted, n.PipProxy, n.Cert = many("trusted-host"), one("proxy"), one("cert")
	return n, nil
}

// pipKeys are the settings that say where packages come from.
var pipKeys = []string{"index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "cert"}

// pipConfig gives pip's own view of its settings for downloads: the flag of
// ours, its environment, the section of the command, the global one.
func (f *Fetcher) pipConfig(ctx context.Context) map[string][]string {
	out := map[string][]string{}
	if argv, err := f.pip(); err == nil {
		said, exit, err := f.Exec(ctx, Tool{Argv: append(argv, "config", "list"), Dir: "/", Env: pipQuiet()})
		if err == nil && exit == 0 {
			out = readPipConfig(string(said))
		}
		f.Log.Info("asked pip for its configuration", "exit", exit, "err", err)
	}
	if f.Index != "" {
		out["index-url"] = []string{f.Index}
	}
	for _, values := range out {
		for _, v := range values {
			if strings.Contains(v, "://") {
				f.secret(v)
			}
		}
	}
	return out
}

// readPipConfig reads `pip config list`: lines such as
// global.index-url='https://…' and :env:.extra-index-url='…', values as Python
// writes strings. Later sections win: global, download, :env:.
func readPipConfig(text string) map[string][]string {
	out, rank := map[string][]string{}, map[string]int{}
	order := map[string]int{"global": 1, "download": 2, ":env:": 3}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		dot := strings.LastIndexByte(name, '.')
		if !ok || dot < 0 || len(value) < 2 {
			continue
		}
		section, key := name[:dot], strings.ReplaceAll(name[dot+1:], "_", "-")
		if !slices.Contains(pipKeys, key) || order[section] <= rank[key] {
			continue
		}
		rank[key] = order[section]
		value = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\'`, `'`).Replace(value[1 : len(value)-1])
		out[key] = strings.Fields(value)
	}
	return out
}

// pip gives the words in front of pip's own, the first a path.
func (f *Fetcher) pip() ([]string, error) {
	python, err := f.python()
	return []string{python, "-m", "pip"}, err
}

func (f *Fetcher) python() (string, error) {
	if f.LookPath == nil || f.Exec == nil {
		return "", fmt.Errorf("no python3")
	}
	return f.LookPath("python3")
}

func pipQuiet() []string {
	return []string{"PIP_REQUIRE_VIRTUALENV=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "PIP_PROGRESS_BAR=off", "PYTHONWARNINGS=ignore"}
}

// Wheels are Python packages for a machine that need not be like this one.
type Wheels struct {
	Requirements []string `json:"requirements"` // torch==2.9.0, one package each
	NoDeps       bool     `json:"no_deps,omitempty"`
	Python       string   `json:"python"`          // 3.11
	Arch         string   `json:"arch"`            // aarch64, x86_64
	Glibc        string   `json:"glibc,omitempty"` // of the target; "": 2.17, which all we know have
	Extra        []string `json:"extra,omitempty"` // indexes besides the configured ones
}

// pipArgs are the words behind pip for `download`; where files go and which
// index is asked is not among them, for an index can hold a password.
func (w Wheels) pipArgs() []string {
	args := []string{"download", "--only-binary=:all:"}
	for _, p := range w.platforms() {
		args = append(args, "--platform", p)
	}
	args = append(args, "--python-version", strings.ReplaceAll(w.Python, ".", ""), "--implementation", "cp", "--abi", "cp"+strings.ReplaceAll(w.Python, ".", ""))
	if w.NoDeps {
		args = append(args, "--no-deps")
	}
	return args
}

// platforms lists the tags a wheel may have, the newest first. linux_ is what
// indexes of companies carry; the public one refuses it.
func (w Wheels) platforms() (out []string) {
	var major, minor int
	if n, _ := fmt.Sscanf(w.Glibc, "%d.%d", &major, &minor); n != 2 || major != 2 || minor < 17 || minor > 99 {
		minor = 17
	}
	for ; minor >= 17; minor-- {
		out = append(out, fmt.Sprintf("manylinux_2_%d_%s", minor, w.Arch))
	}
	return append(out, "manylinux2014_"+w.Arch, "linux_"+w.Arch)
}

// markers is what a requirement may ask of the target (PEP 508).
func (w Wheels) markers() string {
	data, _ := json.Marshal(map[string]string{
		"platform_machine": w.Arch, "platform_system": "Linux", "sys_platform": "linux", "os_name": "posix",
		"python_version": w.Python, "python_full_version": w.Python + ".0",
		"implementation_name": "cpython", "platform_python_implementation": "CPython",
	})
	return string(data)
}

// pipEnv says where pip looks. The configured further indexes stay, for a
// variable of that name replaces them.
func (f *Fetcher) pipEnv(ctx context.Context, w Wheels) []string {
	env := append(pipQuiet(), "ASCENDCTL_MARKERS="+w.markers())
	if f.Index != "" {
		env = append(env, "PIP_INDEX_URL="+f.Index)
	}
	if len(w.Extra) > 0 {
		for _, x := range w.Extra {
			f.secret(x)
		}
		all := append(f.pipConfig(ctx)["extra-index-url"], w.Extra...)
		env = append(env, "PIP_EXTRA_INDEX_URL="+strings.Join(all, " "))
	}
	return env
}

func (w Wheels) check() error {
	bad := func(what string, got, want string) error {
		return &report.Problem{What: report.T("%s of the Python packages is %q, expected %s", "Python 软件包的 %s 为 %q，应为 %s", what, got, want), Exit: report.ExitUsage}
	}
	var major, minor int
	if n, _ := fmt.Sscanf(w.Python, "%d.%d", &major, &minor); n != 2 || fmt.Sprintf("%d.%d", major, minor) != w.Python || major != 3 {
		return bad("python", w.Python, "3.11")
	}
	if w.Arch != "aarch64" && w.Arch != "x86_64" {
		return bad("arch", w.Arch, "aarch64, x86_64")
	}
	if len(w.Requirements) == 0 {
		return bad("requirements", "", "torch==2.9.0")
	}
	for _, r := range w.Requirements {
		if r == "" || strings.ContainsRune("-._+=<>!~,[]", rune(r[0])) || strings.Trim(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+=<>!~,[]") != "" {
			return bad("requirements", clipped(r), "torch==2.9.0")
		}
	}
	for _, x := range w.Extra {
		if !isWeb(x) {
			return bad("extra index", shownAddress(x), "https://INDEX/simple")
		}
	}
	return nil
}

// wheelNamed splits name-version[-build]-python-abi-platform.whl; the name is
// in the one spelling of PEP 503.
func wheelNamed(file string) (name, version string, ok bool) {
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	if !strings.HasSuffix(file, ".whl") || len(parts) < 5 || len(parts) > 6 {
		return "", "", false
	}
	return pep503(parts[0]), parts[1], true
}

func pep503(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' }), "-")
}

// wheelFits says whether a wheel's platform tags allow the target.
func (w Wheels) wheelFits(file string) bool {
	stem := strings.TrimSuffix(filepath.Base(file), ".whl")
	for tag := range strings.SplitSeq(stem[strings.LastIndexByte(stem, '-')+1:], ".") {
		if tag == "any" || strings.HasPrefix(tag, "manylinux") && strings.HasSuffix(tag, "_"+w.Arch) || tag == "linux_"+w.Arch {
			return true
		}
	}
	return false
}
