package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

func (s *session) selfTestCommand() command {
	o := serveOptions{watchdog: durationValue(30 * time.Second)}
	var save string
	return command{
		use:   "self-test [MODEL]",
		short: report.T("Compare the ACL of this host with what is expected of it", "比对本机的 ACL 与预期行为"),
		long: report.T("Asks the library that is really loaded, and one device, what the code and the tests take for granted.\nWithout an NPU only the double of the tests can answer; its report says simulated.",
			"向实际加载的库和一个设备核对代码与测试所依据的预期。没有 NPU 时只有测试替身能应答，其报告标为模拟。"),
		examples: []example{
			{report.T("with a model of yours, and a report to send", "使用自己的模型，并生成可发送的报告"), "ascendctl serve self-test resnet50.om --save report.json"},
		},
		exits: report.T("0 all hold, 1 ACL or the device does not start, 3 some do not hold, 64 usage", "0 全部成立，1 ACL 或设备无法启动，3 有预期不成立，64 用法错误"),
		files: []string{"om"},
		works: true,
		flags: func(f *flagSet) {
			f.text(&o.device, "device", "0", report.T("NPU to ask, `ID`", "要核对的 NPU `ID`"))
			f.text(&o.aclLib, "acl-lib", "", report.T("libascendcl, its folder or the home of CANN, `PATH`; the environment stays as it is (default: searched)", "libascendcl、其目录或 CANN 根目录 `PATH`；不改动环境变量（默认自动查找）"))
			f.yes(&o.share, "share-device", "", report.T("use a device that other services share, too", "与同样启用共享的其他服务共用设备"))
			f.text(&o.lockDir, "lock-dir", "", report.T("folder `DIR` of the device locks, for containers that have one in common", "设备锁目录 `DIR`，供多个容器共用"))
			f.in = flagsOutput
			f.text(&save, "save", "", report.T("write the report to `FILE` (JSON); it names no host", "将报告写入 `FILE`（JSON），其中不含主机标识"))
		},
		run: func(ctx context.Context, args []string) error {
			file := ""
			if len(args) > 0 {
				file = args[0]
			}
			o.single = true
			return s.selfTest(ctx, o, file, save)
		},
	}
}

// assumption is a row of compat/self-test.yaml.
type assumption struct {
	ID     string      `yaml:"id"`
	Title  report.Text `yaml:"title"`
	Expect []string    `yaml:"expect"`
	Source string      `yaml:"source"`
}

func (s *session) selfTest(ctx context.Context, o serveOptions, file, save string) (err error) {
	if _, err := strconv.Atoi(o.device); err != nil {
		return usage(report.T("--device %s: not a value it takes", "--device %s：取值无效", o.device), report.Text{}, report.T("give one number", "给出 1 个数"), "")
	}
	b, err := s.book()
	if err != nil {
		return err
	}
	rows, err := book.Rows[assumption](b, "self-test.yaml", "assumptions")
	if err != nil {
		return err
	}
	st, dir, err := s.stand(ctx, o, "self-test")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close(dir)) }()
	d, err := s.observe(ctx, o, rows, dir, file)
	if err != nil {
		d.Stopped = withoutFolders(err.Error())
	}
	if save != "" { // most of all where it failed
		if unsaved := saveDocument("--save", save, *d); unsaved != nil {
			return errors.Join(err, unsaved)
		}
	}
	if err != nil {
		return err
	}
	if err := s.show(*d); err != nil {
		return err
	}
	if d.Differs() > 0 {
		return verdict(report.ExitNo)
	}
	return nil
}

// observe opens the library, asks it, and holds the answers against the rows. The
// document tells as far as that went.
func (s *session) observe(ctx context.Context, o serveOptions, rows []assumption, dir, file string) (*screen.SelfTest, error) {
	d := &screen.SelfTest{Envelope: s.envelope("self-test/v1")}
	lib, npu, err := s.takeDevice(o)
	if err != nil {
		return d, err
	}
	seen, err := infer.SelfTest(ctx, lib, npu, dir, file)
	d.Layout, d.Version, d.Lacks, d.Simulated, d.SoC, d.Direct = lib.Layout, lib.Version, lib.Lacks, lib.Simulated, npu.SoC, npu.Direct()
	for _, f := range lib.Files {
		d.Libraries = append(d.Libraries, filepath.Base(f))
	}
	for _, w := range seen {
		i := slices.IndexFunc(rows, func(a assumption) bool { return a.ID == w.ID })
		if i < 0 {
			return d, &report.Problem{What: report.T("self-test.yaml says nothing of %s", "self-test.yaml 未说明 %s", w.ID), Exit: report.ExitFailed}
		}
		a := rows[i]
		d.Items = append(d.Items, screen.SelfItem{ID: a.ID, Title: a.Title, Expect: a.Expect, Got: withoutFolders(w.Got), Holds: slices.Contains(a.Expect, w.Got), Source: a.Source})
	}
	if err = closeDevice(err, npu, lib); err != nil {
		return d, aclProblem(report.T("the device failed under the test", "设备在核对过程中失败"), err)
	}
	return d, nil
}

// withoutFolders leaves of every path its last name: the others tell whose
// machine it was.
func withoutFolders(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		if at := strings.LastIndexByte(w, '/'); at >= 0 {
			words[i] = w[at+1:]
		}
	}
	return strings.Join(words, " ")
}

// saveDocument writes a document as JSON where a flag says.
func saveDocument(flag, name string, d screen.Document) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(screen.Write("json", f, nil, d), f.Close())
	}
	if err != nil {
		return usage(report.T("cannot write %s %s", "无法写入 %s %s", flag, name), report.Same(err.Error()),
			report.T("name a file in a folder that can be written", "指定可写目录中的文件"), "")
	}
	return nil
}
