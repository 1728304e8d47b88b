package fakeacl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
)

// faces are the hosts of facts/acl.md section 9.
var faces = map[string]string{"N": `{"driver":0}`, "Z": `{"devices":0}`, "F": `{}`, "nodriver": `{}`}

// script is one heading of a list and what stands below it.
type script struct {
	line         int
	id, face     string // the first words in brackets
	name         string
	steps, wants []string // of each line; a want of "\x00" means that it prints nothing
	here         bool     // opened on the thread that plays
	captured     bool     // without ASCEND_COREDUMP_SIGNAL=none
	env          []string
}

var heading = regexp.MustCompile(`^\[(\S+) (.*?)\] (.*)$`)

// silent are the lines that print nothing.
var silent = regexp.MustCompile(`^([@~]\S )?(\S+ = |(load|save|host|let|put|fill|sleep|do|self|setenv|fork|join)\b)|^~`)

// prelude are the lines a directive stands for.
var prelude = map[string]string{
	"!up": "aclInit NULL\naclrtSetDevice 0",
	"!static": `aclInit NULL
aclrtSetDevice 0
aclmdlLoadFromFile 'static.om' &id
in = aclmdlCreateDataset
out = aclmdlCreateDataset
aclrtMalloc &p 7104 0
aclrtMalloc &q 64 0
b = aclCreateDataBuffer $p 7104
ob = aclCreateDataBuffer $q 64
aclmdlAddDatasetBuffer $in $b
aclmdlAddDatasetBuffer $out $ob`,
	"!gears": `aclInit NULL
aclrtSetDevice 0
aclmdlLoadFromFile 'gears.om' &id
in = aclmdlCreateDataset
out = aclmdlCreateDataset
aclrtMalloc &p 256 0
aclrtMalloc &g 64 0
aclrtMalloc &q 256 0
b = aclCreateDataBuffer $p 256
gb = aclCreateDataBuffer $g 4
ob = aclCreateDataBuffer $q 256
aclmdlAddDatasetBuffer $in $b
aclmdlAddDatasetBuffer $in $gb
aclmdlAddDatasetBuffer $out $ob`,
	"!down": `aclmdlUnload $id
aclmdlDestroyDataset $in
aclmdlDestroyDataset $out
aclDestroyDataBuffer $b
aclDestroyDataBuffer $ob
aclrtFree $p
aclrtFree $q
aclrtResetDevice 0
aclFinalize`,
}

func scripts(t *testing.T, file string) (out []*script) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		if m := heading.FindStringSubmatch(line); m != nil {
			out = append(out, &script{line: n + 1, id: m[1], face: m[2], name: m[3]})
		} else if line != "" && line[0] != '#' && len(out) > 0 {
			out[len(out)-1].add(line)
		}
	}
	return out
}

func (s *script) adds(lines ...string) {
	for _, l := range lines {
		s.add(l)
	}
}

func (s *script) add(line string) {
	switch {
	case strings.HasPrefix(line, "!here"):
		s.here, s.captured = true, line == "!here"
		return
	case strings.HasPrefix(line, "!env "):
		s.env = append(s.env, line[len("!env "):])
		return
	case line == "!captured":
		s.captured = true
		return
	case prelude[line] != "":
		for l := range strings.SplitSeq(prelude[line], "\n") {
			s.add(l)
		}
		return
	}
	step, want, told := strings.Cut(line, " =>")
	want = strings.TrimPrefix(want, " ")
	switch {
	case silent.MatchString(step):
		want = "\x00"
	case !told:
		want = "0"
	}
	s.steps, s.wants = append(s.steps, step), append(s.wants, want)
}

// played is what a script did.
type played struct {
	lines      []string
	stderr     string
	crashed    bool
	events     []Event
	violations []string
}

func (s *script) play(t *testing.T, lib *Library, files string) played {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	args := lib.Files
	if s.here {
		args = append([]string{"-here"}, args...)
	}
	cmd := exec.Command(lib.Play, args...)
	cmd.Dir, cmd.Stdin = files, strings.NewReader(strings.Join(s.steps, "\n")+"\n")
	config := s.face
	if f, ok := faces[config]; ok {
		config = f
	}
	cmd.Env = append(lib.Env(config, report, onnxruntime(t)), s.env...)
	if s.captured {
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "ASCEND_COREDUMP_SIGNAL=") })
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	p := played{stderr: stderr.String(), lines: strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 {
		p.crashed = true
	} else if err != nil {
		t.Fatalf("line %d: %v: %s", s.line, err, p.stderr)
	}
	if p.events, err = Events(report); err != nil {
		t.Fatal(err)
	}
	p.violations = Violations(p.events)
	return p
}

// judge compares what was printed with what the lines want.
func (s *script) judge(p played) error {
	next := 0
	for i, want := range s.wants {
		if want == "\x00" {
			continue
		}
		if want == "crash" {
			if !p.crashed {
				return fmt.Errorf("%q did not end the process", s.steps[i])
			}
			return nil
		}
		got := ""
		if next < len(p.lines) {
			got = p.lines[next]
		}
		next++
		if part, ok := strings.CutPrefix(want, "~"); ok && strings.Contains(got, part) || got == want || want == "*" {
			continue
		}
		return fmt.Errorf("%q answered %q, want %q", s.steps[i], got, want)
	}
	if p.crashed {
		return fmt.Errorf("the process crashed: %s", p.stderr)
	}
	return nil
}

// modelFiles writes what the scripts load: the sizes are those of two real
// files, the names say the rest.
func modelFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	static := omtest.File{Generation: omtest.Wide, Name: "static", SoC: "Ascend310P3", Work: 90624, Weights: make([]byte, 320000), Function: "argmax",
		Inputs:  []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{1, 1764}}},
		Outputs: []omtest.Tensor{{Name: "y", DType: "INT64", Dims: []int64{1}}}}
	write("static.om", static.Encode())
	bad := static.Encode()
	bad[184]++
	write("badlength.om", bad)
	layout2 := static
	layout2.Generation = omtest.Layout2
	write("layout2.om", layout2.Encode())
	for name, soc := range map[string]string{"soc310.om": "Ascend310", "soc910.om": "Ascend910"} {
		other := static
		other.SoC = soc
		write(name, other.Encode())
	}
	nosoc := static
	nosoc.Generation, nosoc.SoC = omtest.Layout1, ""
	write("nosoc.om", nosoc.Encode())
	vae := nosoc
	vae.Work, vae.Weights = 6014464, make([]byte, 386560)
	write("vae.om", vae.Encode())
	row := []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{4, 16}}}
	gears := omtest.File{Generation: omtest.Wide, Name: "gears", SoC: "Ascend310P3", Function: "identity", Inputs: row, Outputs: row,
		Gears: model.Gears{Kind: model.GearBatch, Values: [][]int64{{1}, {2}, {4}}}, GearInputs: [][]int64{{-1, 16}}}
	write("gears.om", gears.Encode())
	open := []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{-1, 16}, Range: [][2]int64{{1, 8}, {16, 16}}}}
	write("dynamic.om", omtest.File{Generation: omtest.Wide, Name: "dynamic", SoC: "Ascend310P3", Function: "identity", Inputs: open, Outputs: open, Dynamic: true}.Encode())
	flat := []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{4, 16}}}
	write("dims.om", omtest.File{Generation: omtest.Wide, Name: "dims", SoC: "Ascend310P3", Function: "identity", Inputs: flat, Outputs: flat,
		Gears: model.Gears{Kind: model.GearDims, Values: [][]int64{{1, 16}, {4, 16}}}, GearInputs: [][]int64{{-1, 16}}}.Encode())
	picture := []omtest.Tensor{{Name: "x", DType: "FLOAT", Layout: "NCHW", Dims: []int64{1, 4, 8, 8}}}
	write("image.om", omtest.File{Generation: omtest.Wide, Name: "image", SoC: "Ascend310P3", Function: "identity", Inputs: picture, Outputs: picture,
		Gears: model.Gears{Kind: model.GearImage, Values: [][]int64{{4, 8}, {8, 8}}}, GearInputs: [][]int64{{1, 4, -1, -1}}}.Encode())
	jsonFiles(t, dir, write)
	return dir
}

func jsonFiles(t *testing.T, dir string, write func(string, []byte)) {
	t.Helper()
	write("big.json", bytes.Repeat([]byte(" "), 10<<20+1))
	for name, text := range map[string]string{
		"open": "{", "comma": `{"a":1,}`, "deep10": strings.Repeat("[", 10) + strings.Repeat("]", 10), "deep11": strings.Repeat("[", 11) + strings.Repeat("]", 11),
		"mode7": `{"err_msg_mode":"7"}`, "modenumber": `{"err_msg_mode":1}`, "mode1": `{"err_msg_mode":"1"}`,
		"devicex": `{"defaultDevice":{"default_device":"x"}}`, "devicenumber": `{"defaultDevice":{"default_device":0}}`,
		"dump": `{"dump":{"dump_path":"/nowhere/at/all","dump_mode":"all"}}`, "empty": "", "braces": "{}", "brackets": "[]", "mark": "\ufeff{}",
		"odd": `{"what":1,"max_opqueue_num":"x","StackSize":{"aicore_stack_size":1},"profiler":{"switch":"on"}}`,
	} {
		write(name+".json", []byte(text))
	}
	if err := os.Symlink("braces.json", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
}
