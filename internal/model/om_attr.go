package model

import (
	"github.com/ascendctl/ascendctl/internal/report"
)

// Bounds on lists inside attributes, far above real files.
const (
	maxEntries = 1 << 20 // texts of a dictionary, numbers of a list
	maxGears   = 1 << 10 // 128 by the structs of the interface, 256 on the newest chip
)

// attr is the value of an AttrDef, as far as it is looked at.
type attr struct {
	text  string
	num   int64
	texts []string
	nums  []int64
	rows  [][]int64 // list of lists
	isNum bool
}

// dictionary resolves the compressed attributes of files since CANN 7: names
// of attributes are numbers into names, and texts numbers into values where
// coded says so (source: hicann/ge ModelCompressManager; one real file).
type dictionary struct {
	names, values []string
	coded         []int64
}

// attribute reads one entry of an attribute map, if its name is wanted; else
// the name comes back empty.
func (o *om) attribute(f field, wanted func(name string) bool) (name string, a attr, err error) {
	var value field
	err = o.walk(f, "attr", func(f field) (err error) {
		switch f.num {
		case 1:
			name, err = o.text(f)
		case 2:
			value = f
		}
		return err
	})
	name, index := o.attrs.name(name)
	if err != nil || value.num == 0 || !wanted(name) {
		return "", a, err
	}
	if a, err = o.value(value); err != nil {
		return "", a, err
	}
	if index >= 0 && index < len(o.attrs.coded) && o.attrs.coded[index] != 0 {
		o.attrs.decode(&a)
	}
	return name, a, nil
}

// name gives the name behind a key and its number. A compressed key is a zero
// byte and then the digits of the number to base 127, lowest first, each one
// higher.
func (d *dictionary) name(key string) (string, int) {
	if len(d.names) == 0 || key == "" || key[0] != 0 {
		return key, -1
	}
	n, unit := 0, 1
	for _, digit := range []byte(key[1:min(len(key), 5)]) {
		if digit == 0 {
			return "", -1
		}
		n += int(digit-1) * unit
		unit *= 127
	}
	if n >= len(d.names) {
		return "", -1
	}
	return d.names[n], n
}

// decode puts the texts in place of their numbers.
func (d *dictionary) decode(a *attr) {
	at := func(n int64) string {
		if n < 0 || n >= int64(len(d.values)) {
			return ""
		}
		return d.values[n]
	}
	if a.isNum {
		a.text = at(a.num)
	}
	for _, n := range a.nums {
		a.texts = append(a.texts, at(n))
	}
}

func (o *om) value(f field) (a attr, err error) {
	err = o.walk(f, "AttrDef", func(f field) (err error) {
		switch f.num {
		case 1:
			return o.walk(f, "AttrDef.ListValue", func(f field) (err error) { return o.listed(f, &a) })
		case 2:
			a.text, err = o.text(f)
		case 3, 5:
			a.isNum = true
			a.num, err = f.number()
		case 14:
			return o.walk(f, "AttrDef.ListListInt", func(f field) (err error) { return o.row(f, &a) })
		}
		return err
	})
	return a, err
}

func (o *om) listed(f field, a *attr) (err error) {
	switch f.num {
	case 2:
		if len(a.texts) == maxEntries {
			return f.damage(report.T("a list has more than %d texts", "列表超过 %d 项文本", maxEntries))
		}
		var s string
		s, err = o.text(f)
		a.texts = append(a.texts, s)
	case 3, 5:
		a.nums, err = o.numbers(a.nums, f, maxEntries)
	}
	return err
}

func (o *om) row(f field, a *attr) error {
	if f.num != 1 {
		return nil
	}
	if len(a.rows) == maxRank {
		return f.damage(report.T("field %d has more than %d entries", "字段 %d 超过 %d 项", f.num, maxRank))
	}
	var row []int64
	err := o.walk(f, "AttrDef.ListListInt.ListInt", func(f field) (err error) {
		if f.num == 1 {
			row, err = o.numbers(row, f, maxRank)
		}
		return err
	})
	a.rows = append(a.rows, row)
	return err
}

// modelAttrs are the attributes of the model that are told.
var modelAttrs = map[string]bool{
	"attr_name_enum": true, "attr_value_enum": true, "attrs_use_string_value": true, "attr_model_out_nodes_name": true,
	"atc_version": true, "opp_version": true, "atc_cmdline": true, "soc_version": true, "framework_type": true, "target_type": true,
	"stream_num": true, "event_num": true, "zero_copy_memory_size": true, "host_env_os": true, "host_env_cpu": true,
}

// modelDef reads a ModelDef twice over: its attributes, which lie behind the
// graphs, say how those are written.
func (o *om) modelDef(def field) error {
	var graph field
	said := map[string]attr{}
	err := o.walk(def, "ModelDef", func(f field) (err error) {
		switch {
		case f.num == 1:
			var s string
			if s, err = o.text(f); s != "" {
				o.name = Recorded(s) // the header cuts it at 31 bytes
			}
		case f.num == 7 && graph.num == 0: // those behind it are branches of it
			graph = f
		case f.num == 11:
			name, a, err := o.attribute(f, func(s string) bool { return modelAttrs[s] })
			if name != "" {
				said[name] = a
			}
			return err
		}
		return err
	})
	if err != nil {
		return err
	}
	if graph.num == 0 {
		return def.damage(report.T("there is no graph (field 7)", "缺少 graph（字段 7）"))
	}
	o.attrs = dictionary{names: said["attr_name_enum"].texts, values: said["attr_value_enum"].texts, coded: said["attrs_use_string_value"].nums}
	o.say(said)
	o.graph = omGraph{ops: map[string]int{}, outNames: said["attr_model_out_nodes_name"].texts}
	return o.readGraph(graph)
}

// say fills in what the attributes of the model tell.
func (o *om) say(said map[string]attr) {
	text := func(name string) Recorded { return Recorded(said[name].text) }
	number := func(name string) *int64 {
		if a, ok := said[name]; ok && a.isNum {
			return &a.num
		}
		return nil
	}
	o.out.Chip = text("soc_version")
	c := &o.out.Compiler
	c.ATC, c.OPP, c.Framework, c.Target = text("atc_version"), text("opp_version"), text("framework_type"), text("target_type")
	c.Streams, c.Events = number("stream_num"), number("event_num")
	if os, cpu := text("host_env_os"), text("host_env_cpu"); os != "" && cpu != "" {
		c.Host = os + "/" + cpu
	}
	o.out.Memory.ZeroCopy = number("zero_copy_memory_size")
	o.out.Command, c.CANN = command(said["atc_cmdline"].text)
}
