package model

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ascendctl/ascendctl/internal/report"
)

// foreign is a kind of file other than ONNX; without a reader it is only named.
type foreign struct {
	offset int
	magic  string
	is     report.Text // both halves begin with a Latin letter or digit
	why    report.Text
	do     report.Text
	model  bool // a model of another format, which a later release may read
	reader func(*wire, *Model) error
}

var (
	fromSource  = report.T("give the ONNX file the model was made from", "给出生成该模型的 ONNX 文件")
	exportAgain = report.T("export the model as ONNX from the framework it was trained in", "在训练框架中将模型导出为 ONNX")
	unpack      = report.T("unpack it and give the model file inside", "解压后给出其中的模型文件")
	engine      = report.T("weights like these are served by an inference engine such as vLLM", "此类权重由 vLLM 等推理引擎提供服务")
	noGraph     = report.T("it holds weights without a graph", "其中只有权重，没有计算图")
	needsKey    = report.T("its content cannot be read without the key", "没有密钥（key）无法读取其内容")
	again       = report.T("download the file again", "重新下载该文件")
	onlyPage    = report.T("the address it came from answered with a page, often a login or an error", "下载地址返回的是网页，通常是登录页或错误页")

	pickle = report.T("a Python pickle", "Python pickle 文件")
	mindir = foreign{model: true, is: report.T("a MindIR model", "MindIR 模型"), do: report.T(
		"export the model as ONNX from MindSpore", "在 MindSpore 中将模型导出为 ONNX")}
	air = foreign{model: true, is: report.T("an AIR model", "AIR 模型"), do: exportAgain}
)

const zipMagic = "PK\x03\x04"

// foreigners are told by bytes at a fixed place (sources: hicann/ge OM header;
// MindSpore's encrypted MindIR magics, little-endian 0x7F3A5ED8 to DA; git-lfs
// specification; each archive's and weight format's own specification).
var foreigners = []foreign{
	{magic: "IMOD", reader: readOM},
	encrypted("\xd8\x5e\x3a\x7f", "AES-GCM"),
	encrypted("\xd9\x5e\x3a\x7f", "AES-CBC"),
	encrypted("\xda\x5e\x3a\x7f", "SM4-CBC"),
	{magic: "version https://git-lfs", is: report.T("a Git LFS pointer, not the model itself", "Git LFS 指针文件，不是模型本身"),
		do: report.T("run `git lfs pull` in its repository to fetch the model", "在其仓库中执行 `git lfs pull` 获取模型")},
	{magic: "\x1f\x8b", is: report.T("a gzip archive", "gzip 压缩文件"), do: unpack},
	{magic: zipMagic, is: report.T("a zip archive", "zip 压缩文件"),
		why: report.T("PyTorch checkpoints are zip archives too", "PyTorch 检查点也是 zip 压缩文件"),
		do:  report.T("unpack it when it holds an ONNX file, else export the model as ONNX", "其中有 ONNX 文件时先解压，否则将模型导出为 ONNX")},
	{magic: "\xfd7zXZ\x00", is: report.T("an xz archive", "xz 压缩文件"), do: unpack},
	{magic: "\x28\xb5\x2f\xfd", is: report.T("a zstd archive", "zstd 压缩文件"), do: unpack},
	{offset: 257, magic: "ustar", is: report.T("a tar archive", "tar 归档文件"), do: unpack},
	{magic: "GGUF", is: report.T("a GGUF file", "GGUF 文件"), why: noGraph, do: engine},
	{offset: 4, magic: "\x00\x00\x00\x00{\"", is: report.T("a safetensors file", "safetensors 文件"), why: noGraph, do: engine},
	{magic: "\x80\x02", is: pickle, do: exportAgain},
	{magic: "\x80\x03", is: pickle, do: exportAgain},
	{magic: "\x80\x04", is: pickle, do: exportAgain},
	{magic: "\x80\x05", is: pickle, do: exportAgain},
	{magic: "\x89HDF\r\n\x1a\n", is: report.T("an HDF5 file", "HDF5 文件"), do: exportAgain},
	{model: true, offset: 4, magic: "ORTM", is: report.T("an ORT-format model of ONNX Runtime", "ORT 格式模型（ONNX Runtime）"), do: fromSource},
	{model: true, offset: 4, magic: "TFL3", is: report.T("a TFLite model", "TFLite 模型"), do: exportAgain},
}

func encrypted(magic, cipher string) foreign {
	return foreign{
		model: true,
		magic: magic,
		is:    report.T("an encrypted MindIR model (%s)", "MindIR 加密模型（%s）", cipher),
		why:   needsKey,
		do:    exportAgain,
	}
}

func (k *foreign) problem(name string) *report.Problem {
	p := &report.Problem{Why: k.why, Do: k.do, Exit: report.ExitFailed}
	switch {
	case k.is.IsZero():
		p.What = report.T("%s is not a model file of a known kind", "%s 不是已知类型的模型文件", name)
	case k.model:
		p.What = report.T("%s is %s, this release reads only ONNX and .om", "%s 是 %s，此版本只读取 ONNX 和 .om", name, k.is)
	default:
		p.What = report.T("%s is %s, not an ONNX or .om model", "%s 是 %s，不是 ONNX 或 .om 模型", name, k.is)
	}
	return p
}

// recognise tells the kind of a file by its content: nil is ONNX.
func recognise(w *wire) (*foreign, error) {
	head, err := w.peek(0, min(512, w.size))
	if err != nil {
		return nil, err
	}
	if len(head) == 0 {
		return &foreign{is: report.T("an empty file", "0 字节的文件"), do: again}, nil
	}
	for i := range foreigners {
		if k := &foreigners[i]; k.offset <= len(head) && bytes.HasPrefix(head[k.offset:], []byte(k.magic)) {
			if k.magic == zipMagic && openOM2(w) != nil {
				return &foreign{reader: readOM2}, nil
			}
			return k, nil
		}
	}
	if isPage(head) {
		return &foreign{is: report.T("an HTML or XML page", "HTML 或 XML 网页"), why: onlyPage, do: again}, nil
	}
	return byFields(w, &foreign{ // no name: nobody knows it
		why: report.T("it begins with %q; known kinds are ONNX, OM, MindIR and AIR", "开头为 %q；已知类型有 ONNX, OM, MindIR 和 AIR",
			head[:min(16, len(head))]),
		do: report.T("give an ONNX or .om file", "给出 ONNX 或 .om 文件"),
	})
}

func isPage(head []byte) bool {
	s := strings.ToLower(string(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")))
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<?xml"} {
		if strings.HasPrefix(s, tag) {
			return true
		}
	}
	return false
}

// byFields tells the protobuf kinds apart by how their first fields are
// written: ONNX has a number in field 1 (ir_version), MindIR its version as a
// text there and then the producer, AIR a name and then a number (sources:
// onnx.proto, mind_ir.proto, ge_ir.proto). Writers keep the order of numbers,
// so a file that lost its end still shows its kind.
func byFields(w *wire, unknown *foreign) (*foreign, error) {
	var seen [9]field
	left := 64
	err := w.walk(w.whole(), "", func(f field) error {
		if int(f.num) < len(seen) && seen[f.num].num == 0 {
			seen[f.num] = f
		}
		if left--; left == 0 {
			return io.EOF
		}
		return nil
	})
	if d := (*damage)(nil); err != nil && err != io.EOF && !errors.As(err, &d) {
		return nil, err
	}
	has := func(num int, typ protowire.Type) bool { return seen[num].num != 0 && seen[num].typ == typ }
	const number, text = protowire.VarintType, protowire.BytesType
	switch {
	case has(1, number), seen[1].num == 0 && has(7, text) && has(8, text):
		return nil, nil
	case has(1, text) && has(2, text) && isVersion(w, seen[1]):
		return &mindir, nil
	case has(2, number) && has(7, text):
		return &air, nil
	}
	return unknown, nil
}

// isVersion is true for the version texts MindIR files hold: 0.1.1, 1.1.
func isVersion(w *wire, f field) bool {
	s, err := w.text(f)
	return err == nil && len(s) < 16 && strings.Contains(s, ".") && strings.Trim(s, "0123456789.") == ""
}
