package engine

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/cann"
)

func TestWhatFitsAndByHowMuchNot(t *testing.T) {
	const mi, gi = int64(1) << 20, int64(1) << 30
	model := Need{Model: "resnet", Instances: 2, Weights: 100 * mi, Work: 50 * mi, IO: 10 * mi}
	for _, c := range []struct {
		name  string
		room  Room
		needs []Need
		need  int64
		short int64
	}{
		{"nothing needs nothing", Room{Free: gi, Total: gi}, nil, 0, 0},
		{"every instance pays", Room{Free: gi, Total: 2 * gi}, []Need{model}, 320 * mi, 0},
		{"every model pays", Room{Free: gi, Total: 2 * gi}, []Need{model, {Model: "other", Weights: 100 * mi}}, 420 * mi, 0},
		{"exactly", Room{Free: 330 * mi, Total: gi, Reserve: 10 * mi}, []Need{model}, 320 * mi, 0},
		{"one byte short", Room{Free: 330*mi - 1, Total: gi, Reserve: 10 * mi}, []Need{model}, 320 * mi, 1},
		{"512 MiB are kept back on a big card", Room{Free: 600 * mi, Total: 64 * gi}, []Need{model}, 320 * mi, 232 * mi},
		{"5 % on a small one", Room{Free: 400 * mi, Total: 1000 * mi}, []Need{model}, 320 * mi, 0},
		{"a board counts what the system has", Room{Free: 3 * gi, Total: 4 * gi, Available: 700 * mi}, []Need{model}, 320 * mi, 132 * mi},
		{"sizes from a broken file", Room{Free: gi, Total: gi}, []Need{{Instances: 3, Weights: math.MaxInt64}, {Work: math.MaxInt64}, {IO: -5}}, math.MaxInt64, math.MaxInt64 - gi},
	} {
		b := Fit(c.room, c.needs)
		if b.Need != c.need || b.Short != c.short || b.Fits != (c.short == 0) || (b.Problem(0) == nil) != b.Fits {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
	p := Fit(Room{Free: 3 * gi, Total: 4 * gi, Available: 700 * mi}, []Need{model}).Problem(2)
	for _, want := range []string{"132.0 MiB are short", "device 2", "needed 320.0 MiB: resnet 2 x (weights 100.0 MiB + work 50.0 MiB + inputs and outputs 10.0 MiB); kept back 512.0 MiB", "MemAvailable): 700.0 MiB"} {
		if !strings.Contains(p.Error(), want) {
			t.Errorf("no %q in %q", want, p.Error())
		}
	}
}

func TestDevicesShareTheCPUsOfTheirNode(t *testing.T) {
	nodes := []Node{{0, "0-7,16-23"}, {1, "8-15"}, {2, ""}, {3, "24"}}
	seats := []Seat{{5, 0}, {1, 0}, {1, 0}, {2, 1}, {3, -1}, {4, 2}, {6, 3}}
	got, err := Place(nodes, seats, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int][]int{1: {0, 1, 2, 3, 4, 5, 6, 7}, 5: {16, 17, 18, 19, 20, 21, 22, 23}, 2: {8, 9, 10, 11, 12, 13, 14, 15}}
	for device := range 8 {
		if !slices.Equal(got[device], want[device]) {
			t.Errorf("device %d on %v, want %v", device, got[device], want[device])
		}
	}
	got, _ = Place(nodes, seats, []int{0, 1, 2, 3, 16})
	if !slices.Equal(got[1], []int{0, 1}) || !slices.Equal(got[5], []int{2, 3, 16}) || got[2] != nil {
		t.Errorf("within a limit: %v", got)
	}
	if _, err := Place([]Node{{0, "0-"}}, nil, nil); err == nil {
		t.Error("a broken list is taken")
	}
}

func FuzzCPUList(f *testing.F) {
	for _, s := range []string{"", "0", "0-3,8,10-11", "3-1", "-1", "0-99999999", "0-1023,0-1023,0-1023,0-1023", "a", "1,,2", " 1 - 2 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := CPUList(s)
		if err == nil && (!slices.IsSorted(list) || len(list) > maxCPU || len(slices.Compact(slices.Clone(list))) != len(list)) {
			t.Errorf("%q: %v", s, list)
		}
	})
}

func TestShapeOfAService(t *testing.T) {
	for _, c := range []struct {
		board  Board
		single bool
	}{
		{Board{MemTotal: 2 << 30}, false}, // a card in a small host
		{Board{RC: true, MemTotal: 4 << 30}, true},
		{Board{RC: true, MemTotal: 16 << 30}, false},
		{Board{RC: true, MemTotal: 16 << 30, Single: true}, true},
		{Board{MemTotal: 16 << 30, Single: true}, true},
		{Board{RC: true, MemTotal: 4 << 30, Small: 2 << 30}, false},
	} {
		if l := Shape(c.board); l.Single != c.single || l.Why.IsZero() {
			t.Errorf("%+v: %+v", c.board, l)
		}
	}
}

func TestEnvironmentOfAWorker(t *testing.T) {
	s := Worker(WorkerOptions{Exe: "/bin/me", Args: []string{"a", "b"}, Name: "npu1", LogDir: "/tmp/logs",
		Setup: cann.Setup{Vars: []cann.Var{{Name: "LD_LIBRARY_PATH", Front: []string{"/cann/lib64"}}, {Name: "ASCEND_HOME_PATH", Value: "/cann"}}},
		Base:  map[string]string{"LD_LIBRARY_PATH": "/mine", "ASCEND_COREDUMP_SIGNAL": "all", "ASCEND_RT_VISIBLE_DEVICES": "4,5", markName: "outer.npu0.1"}})
	want := []string{"ASCEND_COREDUMP_SIGNAL=none", "ASCEND_HOME_PATH=/cann", "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT=0", "ASCEND_PROCESS_LOG_PATH=/tmp/logs",
		"ASCEND_RT_VISIBLE_DEVICES=4,5", "LD_LIBRARY_PATH=/cann/lib64:/mine"}
	if !slices.Equal(s.Env, want) {
		t.Errorf("environment\n%s\nwant\n%s", strings.Join(s.Env, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(s.Argv, []string{"/bin/me", "a", "b"}) || s.Grace != 5*time.Second {
		t.Errorf("%+v", s)
	}
}

func TestBoundOfABatch(t *testing.T) {
	for _, c := range [][4]time.Duration{{1, 200, 5000, 200}, {30, 200, 5000, 300}, {900, 200, 5000, 5000}, {0, 200, 100, 100}} {
		if got := Bound(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("Bound(%d, %d, %d) = %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
}

func TestLinesOfALog(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb":                    "a|b",
		"1%\r2%\r\n\n3%":          "1%|2%|3%",
		"\x1b[31mred\x1b[0m \t\n": "[31mred[0m",
		"bad \xff\xfe utf-8\n":    "bad ? utf-8",
		"":                        "",
	} {
		var got []string
		readLines(strings.NewReader(in), func(s string) { got = append(got, s) })
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestAPauseLetsLinesThroughAgain(t *testing.T) {
	now, shown := t0, []string{}
	j := newJournal(func() time.Time { return now }, func(_, line string) { shown = append(shown, line) })
	for range burst + 5 {
		j.add("stdout", "x")
	}
	now = now.Add(time.Second)
	if !j.add("stdout", "later") || len(shown) != burst+2 || shown[burst] != "[5 lines left out: more than 50 a second]" {
		t.Errorf("%d shown, last %q", len(shown), shown[len(shown)-1])
	}
	if j.sign() != now {
		t.Errorf("last sign at %v", j.sign())
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte("a\r\nb\x00\xff\n"))
	f.Add(bytes.Repeat([]byte("x"), maxLine+3))
	f.Fuzz(func(t *testing.T, data []byte) {
		readLines(bytes.NewReader(data), func(s string) {
			if s == "" || len(s) > maxLine*3+40 || strings.ContainsAny(s, "\n\r\x1b\x00") {
				t.Errorf("line %q", s)
			}
		})
	})
}
