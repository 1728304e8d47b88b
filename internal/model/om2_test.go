package model_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/model"
)

func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	om2Manifest = `{"om2_version":"1.0","model_num":1,"atc_command":"/home/mallory/atc --model=/home/mallory/a.onnx --soc_version=Ascend910B3"}`
	om2Input    = `"inputs":[{"name":"x","shape":[4,3],"data_type":"DT_BF16","format":"ND","size":0,"shape_range":[]}],"outputs":[]`
)

func TestOM2(t *testing.T) {
	for _, c := range []struct{ name, root, meta, gears string }{
		{"plain", "", `{"name":"g","work_size":2048,"dynamic_batch_info":[],` + om2Input + `}`, `"none"`},
		{"in a folder, gears beside", "net/", `{"name":"g","work_size":2048,"dynamic_type":1,"dynamic_batch_info":[[1],[4]],` + om2Input + `}`, `{"batch":[1,4]}`},
		{"gears inside", "", `{"name":"g","work_size":2048,"dynamic_dims":{"dynamic_type":2,"gears":[{"inputs":[8,8]},{"inputs":[16,16]}]},` + om2Input + `}`, `{"image":[[8,8],[16,16]]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := zipped(t, c.root+"manifest.json", om2Manifest, c.root+"data/model_0/model_meta.json", c.meta,
				c.root+"data/constants/model_0_constants_config.json", `{"internal_weight_size":16}`)
			m, err := model.ReadIn(data, 1<<16)
			if err != nil {
				t.Fatal(err)
			}
			gears, err := json.Marshal(m.Gears)
			if err != nil || string(gears) != c.gears || m.Chip != "Ascend910B3" || *m.Memory.Work != 2048 || m.Memory.Weight != 16 || m.Graph != "g" {
				t.Errorf("gears %s, chip %s, memory %+v, graph %s: %v", gears, m.Chip, m.Memory, m.Graph, err)
			}
			if box := m.Container.(*model.OM); box.Header != "OM2 1.0" || m.Kind != model.KindOM {
				t.Errorf("%+v", box)
			}
			checkPorts(t, m.Inputs, `[{"name":"x","dtype":"BFLOAT16","dims":[4,3],"bytes":24,"layout":"ND"}]`)
			if all, err := json.Marshal(m); err != nil || strings.Contains(string(all), "mallory") {
				t.Errorf("a path is told: %s", all)
			}
		})
	}
}

func TestArchivesThatAreNoOM2(t *testing.T) {
	for _, c := range []struct {
		data []byte
		want string
	}{
		{zipped(t, "archive/data.pkl", "x"), "a zip archive"},
		{zipped(t, "manifest.json", `{"version":1}`), "a zip archive"},
		{zipped(t, "manifest.json", `{`), "a zip archive"},
		{zipped(t, "manifest.json", om2Manifest), "is damaged: at byte 0, in data/model_0/model_meta.json: the archive lacks it"},
		{zipped(t, "manifest.json", om2Manifest, "data/model_0/model_meta.json", `{"inputs":7}`), "in data/model_0/model_meta.json: json: cannot unmarshal"},
		{zipped(t, "manifest.json", om2Manifest, "data/model_0/model_meta.json", `{"name":"`+strings.Repeat("a", 4<<20)+`"}`), "over 4 MiB"},
	} {
		_, err := model.ReadIn(c.data, 1<<16)
		if p := model.AsProblem(t, err); !strings.Contains(p.Error(), c.want) {
			t.Errorf("got %s, expected %s", p, c.want)
		}
	}
}
