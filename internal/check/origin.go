package check

import "github.com/ascendctl/ascendctl/internal/report"

// Origin says where one field of the target of a description comes from when a
// person runs preflight: a flag, a key of the hosts file, or what it is derived
// from. A field without any of them could be described and never asked for.
type Origin struct {
	Field   string // key of target: in a description
	Flag    string // of preflight
	Key     string // of a host in the hosts file
	Derived report.Text
}

// Origins has a line for every field.
func Origins() []Origin {
	return []Origin{
		{Field: "task", Flag: "task"},
		{Field: "installs", Flag: "installs", Derived: report.T("of --task install: what the host lacks of driver, firmware, cann, ops, nnal and engine", "--task install 时：主机缺少的 driver、firmware、cann、ops、nnal 与 engine")},
		{Field: "uses", Derived: report.T("ranktable of --ranktable, container_recipe of --image", "由 --ranktable 得出 ranktable，由 --image 得出 container_recipe")},
		{Field: "online", Flag: "online"},
		{Field: "deep", Flag: "deep"},
		{Field: "managed", Key: "managed", Derived: report.T("read-only vendor tree, marks of a cloud notebook", "只读的厂商目录树、云上 Notebook 的标记")},
		{Field: "cann", Flag: "cann", Derived: report.T("the CANN of the row of --for NAME@VERSION", "--for NAME@VERSION 对应行的 CANN")},
		{Field: "chip", Flag: "soc"},
		{Field: "engine", Flag: "for"},
		{Field: "engine_version", Flag: "for"},
		{Field: "image", Flag: "image"},
		{Field: "ranktable", Flag: "ranktable"},
		{Field: "peers", Flag: "peer", Derived: report.T("of several hosts with --nodes: the addresses of the others", "多台主机且给出 --nodes 时：其他主机的地址")},
		{Field: "cards", Derived: report.T("how many --device names", "--device 指定的数量")},
		{Field: "devices", Flag: "device"},
		{Field: "nodes", Flag: "nodes"},
		{Field: "ports", Flag: "listen"},
		{Field: "user", Flag: "user"},
		{Field: "product", Key: "product"},
		{Field: "install_path", Key: "install_path"},
	}
}
