package host

import (
	"path"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// maxDescription bounds a description file: a recording of a busy host is
// some hundred KiB.
const maxDescription = 8 << 20

// World says what a description means by its silence.
type World string

const (
	Closed World = "closed" // what is not listed does not exist
	Open   World = "open"   // what is not listed is unknown
)

// Description is a host as software sees it, as data: a fixture, a simulated
// host, or a recording of a real one (format: docs/recording.md).
type Description struct {
	World      World                  `yaml:"world"`
	ID         string                 `yaml:"id,omitempty"`
	Title      string                 `yaml:"title,omitempty"`
	Provenance string                 `yaml:"provenance,omitempty"`
	Login      Login                  `yaml:"login,omitempty"`
	Target     Wanted                 `yaml:"target,omitempty"`
	Facts      PlainFacts             `yaml:"facts,omitempty"`
	Files      map[string]string      `yaml:"files,omitempty"` // path -> content; "<elf>" stands for a binary
	Nodes      map[string]Node        `yaml:"nodes,omitempty"` // device nodes
	Links      map[string]string      `yaml:"links,omitempty"` // symlink -> target
	Stat       map[string]FileStat    `yaml:"stat,omitempty"`  // where they are not root:root 0644 (0755 for programs and folders)
	Globs      map[string][]string    `yaml:"globs,omitempty"` // pattern -> paths; without it a closed world matches what it lists
	Env        map[string]string      `yaml:"env,omitempty"`   // of the login
	Commands   map[string]Output      `yaml:"commands,omitempty"`
	Absent     []string               `yaml:"absent,omitempty"`  // question lines that were answered "not there"
	Unknown    map[string]string      `yaml:"unknown,omitempty"` // question line -> why it could not be answered
	Answers    map[string]ExactAnswer `yaml:"answers,omitempty"` // question line -> what no other section can hold
	Verdict    Verdict                `yaml:"verdict,omitempty"` // of a fixture: what a correct preflight says
}

// Login is who asks.
type Login struct {
	User string `yaml:"user"`
	Sudo bool   `yaml:"sudo"` // without a password
}

// Wanted is what the user wants of the host.
type Wanted struct {
	Task        string   `yaml:"task,omitempty"` // serve, convert, train, install
	Installs    []string `yaml:"installs,omitempty"`
	Uses        []string `yaml:"uses,omitempty"`
	Online      bool     `yaml:"online,omitempty"`
	Deep        bool     `yaml:"deep,omitempty"`
	Managed     []string `yaml:"managed,omitempty"`
	Cann        string   `yaml:"cann,omitempty"`
	Chip        string   `yaml:"chip,omitempty"` // as in package names
	Engine      string   `yaml:"engine,omitempty"`
	Version     string   `yaml:"engine_version,omitempty"`
	Image       string   `yaml:"image,omitempty"`     // container image, or its tag
	RankTable   string   `yaml:"ranktable,omitempty"` // path on the host
	Peers       []string `yaml:"peers,omitempty"`     // NPU addresses of other hosts
	Cards       int      `yaml:"cards,omitempty"`
	Devices     []int    `yaml:"devices,omitempty"` // logic ids
	Nodes       int      `yaml:"nodes,omitempty"`
	Ports       []int    `yaml:"ports,omitempty"`
	User        string   `yaml:"user,omitempty"`
	Product     string   `yaml:"product,omitempty"`
	InstallPath string   `yaml:"install_path,omitempty"`
}

// Node is a device node.
type Node struct {
	Type  string `yaml:"type"` // c or b
	Mode  string `yaml:"mode"` // octal
	Owner string `yaml:"owner"`
	Group string `yaml:"group"`
	UID   *int   `yaml:"uid,omitempty"`
	GID   *int   `yaml:"gid,omitempty"`
	Major int    `yaml:"major,omitempty"`
	Minor int    `yaml:"minor,omitempty"`
}

// FileStat is what stat says of a path. A key that is not there has the
// default of its path.
type FileStat struct {
	Type  string `yaml:"type,omitempty"` // f d l b c p s
	Mode  string `yaml:"mode,omitempty"` // octal
	Owner string `yaml:"owner,omitempty"`
	Group string `yaml:"group,omitempty"`
	UID   *int   `yaml:"uid,omitempty"`
	GID   *int   `yaml:"gid,omitempty"`
	Size  *int64 `yaml:"size,omitempty"`
	MTime *Time  `yaml:"mtime,omitempty"`
}

// Output is what a command says.
type Output struct {
	Stdout string `yaml:"stdout,omitempty"`
	Stderr string `yaml:"stderr,omitempty"`
	Exit   int    `yaml:"exit"`
	WallMS int    `yaml:"wall_ms,omitempty"` // how long it takes
}

// ExactAnswer is an answer kept as it came; what is no text is in base64.
type ExactAnswer struct {
	Stdout       string `yaml:"stdout,omitempty"`
	Stderr       string `yaml:"stderr,omitempty"`
	StdoutBase64 string `yaml:"stdout_base64,omitempty"`
	StderrBase64 string `yaml:"stderr_base64,omitempty"`
	Exit         int    `yaml:"exit"`
	WallMS       int    `yaml:"wall_ms,omitempty"` // how long it took
}

// Verdict is what a correct preflight says of a fixture.
type Verdict struct {
	Soc     string         `yaml:"soc,omitempty"`
	Overall string         `yaml:"overall,omitempty"`
	Exit    int            `yaml:"exit"`
	Next    []string       `yaml:"next,omitempty"`
	Checks  []CheckVerdict `yaml:"checks,omitempty"`
}

// CheckVerdict is the verdict on one check.
type CheckVerdict struct {
	ID      string   `yaml:"id"`
	Status  Statuses `yaml:"status"` // one, or any of a list
	Because []string `yaml:"because,omitempty"`
	Why     string   `yaml:"why,omitempty"`
}

// Statuses is one status or a list of them.
type Statuses []string

// UnmarshalYAML takes a word or a list of words.
func (s *Statuses) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*s = Statuses{n.Value}
		return nil
	}
	var list []string
	err := n.Decode(&list)
	*s = list
	return err
}

// LoadDescription reads a description or a recording. Mistakes, hostile YAML
// among them, come as one *report.Problem (exit 64) with "name:line" for each.
func LoadDescription(name string, data []byte) (*Description, error) {
	m := &mistakes{file: name}
	top := m.parseYAML(data, maxDescription)
	if top == nil && m.n == 0 {
		m.add(1, "the file is empty: want a host description", "文件为空：应为主机描述")
	}
	if m.n > 0 {
		return nil, m.err()
	}
	d := &Description{}
	if m.decode(top, d); m.n == 0 {
		d.check(m, top)
	}
	if m.n > 0 {
		return nil, m.err()
	}
	return d, nil
}

// check tells what fits the types and still cannot be.
func (d *Description) check(m *mistakes, top *yaml.Node) {
	if d.World != Closed && d.World != Open {
		m.add(lineOf(top, "world"), "world: want closed or open, got %q", "world：应为 closed 或 open，实为 %q", brief(string(d.World)))
	}
	absolute := func(section, p string) {
		if !path.IsAbs(p) {
			m.add(lineOf(top, section, p), "%s: want an absolute path, got %q", "%s：应为绝对路径，实为 %q", section, brief(p))
		}
	}
	for p := range d.Files {
		absolute("files", p)
	}
	for p := range d.Links {
		absolute("links", p)
	}
	for p, n := range d.Nodes {
		absolute("nodes", p)
		octal(m, lineOf(top, "nodes", p), p, n.Mode)
	}
	for p, s := range d.Stat {
		absolute("stat", p)
		octal(m, lineOf(top, "stat", p), p, s.Mode)
	}
	for p := range d.Globs {
		absolute("globs", p)
	}
	for line, out := range d.Commands {
		if _, ok := shellWords(line); !ok {
			m.add(lineOf(top, "commands", line), "command %q: a quote is not closed", "命令 %q：引号未闭合", brief(line))
		}
		if out.Exit < 0 || out.Exit > 255 || out.WallMS < 0 {
			m.add(lineOf(top, "commands", line), "command %q: want exit 0 to 255 and wall_ms from 0, got %d and %d",
				"命令 %q：exit 应为 0 到 255，wall_ms 应不小于 0，实为 %d 和 %d", brief(line), out.Exit, out.WallMS)
		}
	}
	for line, a := range d.Answers {
		if _, err := a.result(); err != nil {
			m.add(lineOf(top, "answers", line), "answer %q: want base64, got %s", "答案 %q：应为 base64，实为 %s", brief(line), err)
		}
	}
}

func octal(m *mistakes, line int, p, mode string) {
	if _, err := strconv.ParseUint(mode, 8, 32); err != nil && mode != "" {
		m.add(line, "%s: mode: want octal digits such as 0660, got %q", "%s：mode 应为八进制数字，如 0660，实为 %q", brief(p), brief(mode))
	}
}

// lineOf finds the line of a key below the top.
func lineOf(n *yaml.Node, keys ...string) int {
	line := n.Line
	for _, want := range keys {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == want {
				line, n = n.Content[i].Line, n.Content[i+1]
				break
			}
		}
	}
	return line
}

// questionLine names a question in absent, unknown and answers:
// [root] [env K=V...] kind arguments, each quoted as a shell wants it; as a
// Go string literal when that is no plain text.
func questionLine(q Question) string {
	var words []string
	if q.Root {
		words = append(words, "root")
	}
	if len(q.Env) > 0 {
		words = append(append(words, "env"), q.Env...)
	}
	line := report.Line(append(append(words, string(q.Kind)), q.Args...)...)
	if !isText([]byte(line)) {
		return strconv.QuoteToASCII(line)
	}
	return line
}

// shellWords splits a command line as a POSIX shell does, without expanding
// anything; false when a quote is left open.
func shellWords(line string) (words []string, ok bool) {
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != quote, quote == '"' && c != quote && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			if i++; i == len(line) {
				return nil, false
			}
			if quote == '"' && !strings.ContainsRune("$`\"\\\n", rune(line[i])) {
				word.WriteByte('\\')
			}
			word.WriteByte(line[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, quote == 0
}
