package cmd

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/bench"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
	"github.com/ascendctl/ascendctl/internal/ui"
)

type benchOptions struct {
	model, labels, output, encoding, concurrency, save string
	data                                               []string
	rows, requests                                     int
	duration, timeout                                  durationValue
}

func (s *session) benchCommand() command {
	o := benchOptions{timeout: durationValue(30 * time.Second)}
	return command{
		use:   "bench <URL>",
		group: groupDaily,
		short: report.T("Measure a running inference service", "对运行中的推理服务压测"),
		long: report.T("Closed loop: each client sends its next request when it has its answer. With labels every answer is judged.\nA stated rate (open loop) is not in this release.",
			"闭环：每个客户端收到应答后才发送下一个请求。给出标签时逐个判断应答是否正确。\n当前版本不含按给定速率的开环压测。"),
		examples: []example{
			{report.T("random inputs, one client", "随机输入，1 个客户端"), "ascendctl bench http://127.0.0.1:8000 --model resnet50"},
			{report.T("real inputs with the right answers, 8 clients", "真实输入与正确答案，8 个客户端"),
				"ascendctl bench http://127.0.0.1:8000 --model digits --data image=images.npy --labels labels.npy --concurrency 8"},
			{report.T("three levels, 30 s each, kept as a file", "3 档并发，每档 30 s，结果保存为文件"),
				"ascendctl bench http://127.0.0.1:8000 --model resnet50 --concurrency 1,8,32 --duration 30s --save result.json"},
		},
		exits: report.T("0 measured, 1 requests failed, 5 no service there, 64 usage", "0 已完成，1 有请求失败，5 服务不可达，64 用法错误"),
		works: true,
		flags: o.flags,
		run:   func(ctx context.Context, args []string) error { return s.bench(ctx, o, args[0]) },
	}
}

func (o *benchOptions) flags(f *flagSet) {
	f.text(&o.model, "model", "", report.T("`NAME` of the model in the service", "服务中的模型名称 `NAME`"))
	f.texts(&o.data, "data", report.T("`NAME=FILE.npy`: rows of that input, repeatable (default random)", "`NAME=FILE.npy`：该输入的数据行，可重复给出（默认随机）"))
	f.text(&o.labels, "labels", "", report.T("`FILE` .npy with the right class of each row", "每行正确类别的 .npy 文件 `FILE`"))
	f.text(&o.output, "output-name", "", report.T("`NAME` of the output that holds the classes (default the only one)", "承载类别的输出名称 `NAME`（默认唯一的输出）"))
	f.text(&o.encoding, "encoding", "binary", report.T("`KIND` of tensors on the wire: binary, json", "Tensor 传输编码 `KIND`：binary、json"))
	f.in = flagsLimits
	f.text(&o.concurrency, "concurrency", "1", report.T("`LIST` of client numbers, one level each: 1,8,32", "客户端数列表 `LIST`，每项为一档：1,8,32"))
	f.number(&o.rows, "rows", 1, report.T("`N` rows of one request", "每个请求的行数 `N`"))
	f.number(&o.requests, "requests", 0, report.T("`N` requests of a level (0: the data once, or 1000)", "每档请求数 `N`（0：数据用一遍，或 1000）"))
	f.value(&o.duration, "duration", report.T("`TIME` of a level instead of a number", "每档时长 `TIME`，代替请求数"))
	f.value(&o.timeout, "timeout", report.T("`TIME` one request may take", "单个请求的超时 `TIME`"))
	f.in = flagsOutput
	f.text(&o.save, "save", "", report.T("write the result to `FILE` (JSON)", "将结果写入 `FILE`（JSON）"))
}

func (s *session) bench(ctx context.Context, o benchOptions, url string) error {
	options, err := s.benchOptions(o, url)
	if err != nil {
		return err
	}
	task := s.reporter().Start(report.T("load", "压测"), ui.Things)
	options.Progress = func(done, total int) { task.Set(int64(done), int64(total)) }
	result, err := bench.Run(ctx, options)
	task.End(err)
	if err != nil {
		return err
	}
	d := screen.Bench{Envelope: s.envelope("bench/v1"), Result: result}
	if err := s.save(o.save, d); err != nil {
		return err
	}
	if err := s.show(d); err != nil {
		return err
	}
	for _, l := range result.Levels {
		if l.Errors > 0 {
			return verdict(report.ExitFailed)
		}
	}
	return nil
}

func (s *session) benchOptions(o benchOptions, url string) (bench.Options, error) {
	if err := oneOf("encoding", o.encoding, "binary", "json"); err != nil {
		return bench.Options{}, err
	}
	b := bench.Options{
		URL: url, Model: o.model, Output: o.output, Rows: o.rows, Requests: o.requests, Seed: s.seed(),
		Duration: time.Duration(o.duration), Timeout: time.Duration(o.timeout), Binary: o.encoding == "binary", Now: s.app.Now,
	}
	if o.model == "" {
		return b, usage(report.T("bench needs the name of the model", "bench 需要模型名称"), report.Text{},
			report.T("name it with --model", "用 --model 指定"), "ascendctl bench --help")
	}
	for _, word := range strings.Split(o.concurrency, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return b, usage(report.T("--concurrency %s: %q is not a number", "--concurrency %s：%q 不是数字", o.concurrency, word), report.Text{},
				report.T("give numbers such as 1,8,32", "给出数字，例如 1,8,32"), "ascendctl bench --help")
		}
		b.Concurrency = append(b.Concurrency, n)
	}
	for _, arg := range o.data {
		name, file, ok := strings.Cut(arg, "=")
		if !ok || name == "" || file == "" {
			return b, usage(report.T("--data %s: not NAME=FILE", "--data %s：不是 NAME=FILE 形式", arg), report.Text{},
				report.T("give the input's name and an .npy file", "给出输入名称与 .npy 文件"), "ascendctl bench --help")
		}
		t, err := readArray("--data", file)
		if err != nil {
			return b, err
		}
		if b.Data == nil {
			b.Data = map[string]oip.Tensor{}
		}
		b.Data[name] = t
	}
	if o.labels == "" {
		return b, nil
	}
	t, err := readArray("--labels", o.labels)
	if err != nil {
		return b, err
	}
	b.Labels, err = labels(o.labels, t)
	return b, err
}

// readArray reads an .npy file that a flag names.
func readArray(flag, file string) (oip.Tensor, error) {
	f, err := os.Open(file)
	if err != nil {
		return oip.Tensor{}, usage(report.T("cannot read %s", "无法读取 %s", file), report.T("%s: %s", "%s：%s", flag, err.Error()),
			report.T("give an .npy file that exists and can be read", "指定存在且可读的 .npy 文件"), "")
	}
	defer f.Close()
	t, err := bench.ReadNPY(file, f)
	if err != nil {
		return t, usage(report.T("%s is not an array that can be sent", "%s 不是可发送的数组", file), report.T("%s: %s", "%s：%s", flag, err.Error()),
			report.T("save it with numpy.save: little-endian, C order", "用 numpy.save 保存：小端、C 顺序"), "")
	}
	return t, nil
}

// labels takes integers of any width out of an array of one axis.
func labels(file string, t oip.Tensor) ([]int64, error) {
	width, ok := map[ascend.DType]int{ascend.Int64: 8, ascend.Int32: 4, ascend.Uint8: 1}[t.DType]
	if !ok || len(t.Shape) != 1 {
		return nil, usage(report.T("--labels %s: want one axis of int64, int32 or uint8, got %s %v", "--labels %s：应为一维 int64、int32 或 uint8，实为 %s %v",
			file, t.DType, t.Shape), report.Text{}, report.T("give one number for each row", "每行给出一个数"), "")
	}
	out := make([]int64, t.Shape[0])
	for i := range out {
		switch b := t.Data[i*width:]; width {
		case 8:
			out[i] = int64(binary.LittleEndian.Uint64(b))
		case 4:
			out[i] = int64(int32(binary.LittleEndian.Uint32(b)))
		default:
			out[i] = int64(b[0])
		}
	}
	return out, nil
}

// save keeps the result for later comparison.
func (s *session) save(name string, d screen.Bench) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err == nil {
		s.encode(f, d)
		err = f.Close()
	}
	if err != nil {
		return usage(report.T("cannot write --save %s", "无法写入 --save %s", name), report.Same(err.Error()),
			report.T("name a file that can be written", "指定可写的文件"), "")
	}
	if !s.flags.quiet {
		s.err.Say(report.T("Saved: %s", "已保存：%s", fmt.Sprint(name)))
	}
	return nil
}
