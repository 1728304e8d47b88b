package check

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// TestEveryRowHasItsJudge: a row without a judge, or a judge without a row,
// would be a check that nobody can trust.
func TestEveryRowHasItsJudge(t *testing.T) {
	c := catalogue(t)
	rows := map[string]bool{}
	for _, r := range c.List() {
		rows[r.ID] = true
	}
	for _, group := range judges() {
		for id := range group {
			if !rows[id] {
				t.Errorf("%s has a judge and no row", id)
			}
		}
	}
	if len(rows) < 128+3 {
		t.Errorf("only %d checks", len(rows))
	}
}

// TestTextsFitAScreen: titles of at most 72 columns in both languages, and a
// Chinese half that is Chinese.
func TestTextsFitAScreen(t *testing.T) {
	c := catalogue(t)
	for _, s := range c.specs {
		for _, l := range []report.Lang{report.En, report.Zh} {
			if n := columns(s.Title.In(l)); n > 72 {
				t.Errorf("%s: title of %d columns in %s", s.ID, n, l)
			}
		}
		if s.Fix.En == s.Fix.Zh || s.Source == "" {
			t.Errorf("%s: fix in one language, or no source", s.ID)
		}
		for name, p := range s.Params {
			if p.Source == "" || phrase(p.Unit).IsZero() {
				t.Errorf("%s: param %s without unit or source", s.ID, name)
			}
		}
	}
}

func columns(s string) (n int) {
	for _, r := range s {
		n++
		if unicode.Is(unicode.Han, r) || r >= 0xFF00 && r <= 0xFF60 || r >= 0x3000 && r <= 0x303F {
			n++
		}
	}
	return n
}

// overlay puts rows of a person over ours.
func overlay(rows string) *book.Book {
	head := "schema: 1\nas_of: 2026-11-30\nchecks:\n"
	return book.New(book.Layer{Name: "compat", FS: compat.FS},
		book.Layer{Name: "mine", FS: fstest.MapFS{"checks.yaml": {Data: []byte(head + rows)}}, User: true})
}

// row is a sound row of a check that has no params.
func row(id, extra string) string {
	return "  - {id: " + id + ", title: {en: x, zh: 甲}, scope: host, severity: error, fix: {en: x, zh: 乙}, source: mine" + extra + "}\n"
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ rows, says string }{
		"a circle of needs":             {row("env.set_u", ", needs: [env.sourced], when: {failed: [npu.mixed]}") + row("npu.mixed", ", needs: [env.set_u]"), "a circle of needs: npu.mixed -> env.set_u -> npu.mixed"},
		"itself":                        {row("npu.mixed", ", needs: [npu.mixed]"), "npu.mixed -> npu.mixed"},
		"an unknown need":               {row("npu.mixed", ", needs: [npu.mxied]"), "npu.mxied, which is no check"},
		"an unknown failed":             {row("npu.mixed", ", when: {failed: [x.y]}"), "x.y, which is no check"},
		"an unknown key of when":        {row("npu.mixed", ", when: {contaner: false}"), "when.contaner, did you mean container"},
		"an unknown key in any_of":      {row("npu.mixed", ", when: {any_of: [{task: [serve]}, {chp: [A2]}]}"), "chp, did you mean chip"},
		"an unknown word of has":        {row("npu.mixed", ", when: {has: [drivers]}"), "want one of cann driver firmware nnal, got drivers"},
		"an unknown chip in any_of":     {row("npu.mixed", ", when: {any_of: [{chip: [910b]}]}"), "when.chip"},
		"a check without a judge":       {row("npu.colour", ""), "no judge of this build is called npu.colour"},
		"a severity that is none":       {strings.Replace(row("npu.mixed", ""), "severity: error", "severity: fatal", 1), `got "fatal"`},
		"a scope that is none":          {strings.Replace(row("npu.mixed", ""), "scope: host", "scope: rack", 1), `got "rack"`},
		"a param that nobody reads":     {row("npu.mixed", ", params: {x: {value: 1, unit: s, source: mine}}"), "x is read by nobody"},
		"a param that is missing":       {row("os.selinux", ""), "params: enforcing missing"},
		"a param of another shape":      {row("os.nofile", ", params: {good: {value: many}, least: {value: 1}}"), "params.good: want number, got many"},
		"a pattern that is none":        {row("driver.not_open_build", ", params: {vendor: {value: '('}}"), "params.vendor: want regex"},
		"a rule that names no param":    {row("npu.mixed", ", rule: {pass: 'less than {most}'}"), "there is no param most"},
		"a rule for no status":          {row("npu.mixed", ", rule: {good: x}"), `"good" is no status`},
		"a text in one language":        {strings.Replace(row("npu.mixed", ""), "{en: x, zh: 甲}", "{en: x}", 1), "zh is missing"},
		"a row without a source":        {strings.Replace(row("npu.mixed", ""), ", source: mine", "", 1), "source is missing"},
		"a file and line for a mistake": {row("npu.mixed", "") + row("npu.colour", ""), "mine/checks.yaml:5: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(overlay(c.rows), nil)
			p, ok := err.(*report.Problem)
			if !ok || p.Exit != report.ExitUsage {
				t.Fatalf("want a problem with exit 64, got %v", err)
			}
			if !strings.Contains(p.Why.En, c.says) {
				t.Errorf("want %q in\n%s", c.says, p.Why.En)
			}
		})
	}
}

// TestAnOverlayMovesAThreshold: --compat changes what a check wants.
func TestAnOverlayMovesAThreshold(t *testing.T) {
	c, err := Load(overlay(row("os.nofile", ", params: {good: {value: 2000000}, least: {value: 1500000}}")), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := describe(t, "../../testdata/cases/hosts/"+a2+".yaml")
	if f := find(Host(c, see(t, c, d, Scene{}), Scene{}), "os.nofile"); f.Status != report.Fail {
		t.Errorf("want fail, got %+v", f)
	}
}

func find(fs []report.Finding, id string) report.Finding {
	return fs[slices.IndexFunc(fs, func(f report.Finding) bool { return f.ID == id })]
}

// TestNothingKnownIsNeverAFail: an open and empty world, and facts that were
// never asked for, leave every check unknown or skipped; what ascendctl does
// itself may pass.
func TestNothingKnownIsNeverAFail(t *testing.T) {
	c := catalogue(t)
	own := []string{"os.locale", "env.set_u"}
	d, err := host.LoadDescription("empty.yaml", []byte("world: open\n"))
	if err != nil {
		t.Fatal(err)
	}
	full := Scene{Task: "serve", CANN: "8.1.RC1", Chip: "910b", Engine: "vllm-ascend", Nodes: 2, Deep: true, Online: true,
		Installs: []string{"driver", "cann", "operators"}, Uses: []string{"container_recipe"}, Product: "Atlas 800I A2"}
	for _, s := range []Scene{{}, full, {Task: "install", Installs: full.Installs, Online: true}} {
		asked := facts.Collect(context.Background(), host.Replay("empty", d), c.Wants(s))
		for name, f := range map[string]*facts.Facts{"never asked": {}, "open world": &asked} {
			for _, got := range Host(c, f, s) {
				if got.Status != report.Unknown && got.Status != report.Skip && !slices.Contains(own, got.ID) {
					t.Errorf("%s, task %q: %s is %s: %+v", name, s.Task, got.ID, got.Status, got.Evidence)
				}
			}
		}
	}
}

// TestABlankFactNeverMakesAFail takes one fact after the other away from every
// described host: what could not be read may turn a verdict to unknown, never
// to fail, and never explains less than it did.
func TestABlankFactNeverMakesAFail(t *testing.T) {
	c := catalogue(t)
	for _, base := range []string{a2, a2u, a3, pod, podr, duo, soc, bare, old, "mixed-leftover-cann", "ubuntu2004-300ipro-310p3"} {
		d := describe(t, "../../testdata/cases/hosts/"+base+".yaml")
		s := sceneOf(d.Target)
		whole := see(t, c, d, s)
		before := Host(c, whole, s)
		fields := reflect.TypeFor[facts.Facts]()
		for i := range fields.NumField() {
			f := *whole
			if !blankOut(reflect.ValueOf(&f).Elem().Field(i)) {
				continue
			}
			for k, got := range Host(c, &f, s) {
				if got.Status == report.Fail && before[k].Status != report.Fail {
					t.Errorf("%s without %s: %s turned from %s to fail: %+v", base, fields.Field(i).Name, got.ID, before[k].Status, got.Evidence)
				}
			}
		}
	}
}

// blankOut makes a fact unknown; false for a field that is no fact.
func blankOut(v reflect.Value) bool {
	if v.Kind() == reflect.Map || v.Kind() == reflect.Slice {
		v.SetZero()
		return true
	}
	if v.Kind() != reflect.Struct || !v.FieldByName("State").IsValid() {
		return false
	}
	v.SetZero()
	v.FieldByName("State").SetString(string(host.Unknown))
	v.FieldByName("Note").SetString("taken away")
	return true
}

func TestOverall(t *testing.T) {
	f := func(id string, s report.Status, w report.Severity, because ...string) report.Finding {
		return report.Finding{ID: id, Status: s, Severity: w, Because: because}
	}
	for name, c := range map[string]struct {
		fs   []report.Finding
		want report.Status
		exit report.Exit
	}{
		"nothing":                   {nil, report.Pass, 0},
		"unknown alone":             {[]report.Finding{f("a", report.Unknown, report.Blocker)}, report.Pass, 0},
		"a root of weight fails":    {[]report.Finding{f("a", report.Fail, report.Error)}, report.Fail, 3},
		"a light root fails":        {[]report.Finding{f("a", report.Fail, report.Info)}, report.Warn, 0},
		"a root warns":              {[]report.Finding{f("a", report.Warn, report.Warning)}, report.Warn, 0},
		"advice warns":              {[]report.Finding{f("a", report.Warn, report.Info)}, report.Pass, 0},
		"only consequences":         {[]report.Finding{f("a", report.Unknown, report.Error), f("b", report.Fail, report.Blocker, "a")}, report.Pass, 0},
		"a consequence that warns":  {[]report.Finding{f("b", report.Warn, report.Error, "a")}, report.Pass, 0},
		"fail wins over a warn too": {[]report.Finding{f("a", report.Warn, report.Error), f("b", report.Fail, report.Blocker)}, report.Fail, 3},
	} {
		if s, e := Overall(c.fs); s != c.want || e != c.exit {
			t.Errorf("%s: want %s %d, got %s %d", name, c.want, c.exit, s, e)
		}
	}
}

func TestDemoteAndCure(t *testing.T) {
	c := catalogue(t)
	d := describe(t, "../../testdata/cases/hosts/"+bare+".yaml")
	fs := Host(c, see(t, c, d, sceneOf(d.Target)), sceneOf(d.Target))
	if !c.Cured(find(fs, "driver.installed"), []string{"driver"}) || c.Cured(find(fs, "driver.installed"), []string{"cann"}) {
		t.Error("an installation of the driver cures driver.installed, and nothing else does")
	}
	Demote(fs, []string{"driver.installed", "driver.required_tools", "dev.user", "cann.installed"})
	if s, e := Overall(fs); s != report.Warn || e != 0 {
		t.Errorf("want warn and exit 0 when every failing root is ignored, got %s %d", s, e)
	}
	if b := find(fs, "driver.npu_smi").Because; !slices.Equal(b, []string{"driver.installed"}) {
		t.Errorf("what an ignored check explains stays explained: got %v", b)
	}
}

// TestManagedPartsAreLeftAlone: a driver that a provider looks after is never
// proposed for replacement.
func TestManagedPartsAreLeftAlone(t *testing.T) {
	c := catalogue(t)
	d := describe(t, "../../testdata/cases/hosts/"+bare+".yaml")
	s := sceneOf(d.Target)
	s.Managed = []string{"driver", "firmware"}
	fs := Host(c, see(t, c, d, s), s)
	if f := find(fs, "driver.installed"); f.Fix != leaveIt || f.Run != "" {
		t.Errorf("got %v, run %q", f.Fix, f.Run)
	}
	if f := find(fs, "cann.installed"); f.Fix == leaveIt {
		t.Error("CANN is not managed here")
	}
}

func TestVersionsCompare(t *testing.T) {
	rising := []string{"3.10", "4.19.90-52", "5.4.0-193-generic", "5.10", "6.6.0"}
	releases := []string{"7.0.0", "8.0.RC2", "8.0.0", "8.1.RC1.alpha001", "8.1.RC1", "8.1.0", "9.0.0-beta.1", "9.0.0", "10.0.0"}
	drivers := []string{"22.0.0", "23.0.rc2", "23.0.0", "24.1.rc2", "24.1.rc3", "24.1.0", "24.1.0.3", "25.0.rc1.1", "25.2.0"}
	python := []string{"2.5.1.dev1", "2.5.1rc1", "2.5.1", "2.5.1.post1", "2.5.1.post2", "2.6.0"}
	for _, list := range [][]string{rising, releases, drivers, python[1:]} {
		for i := range list[1:] {
			if compareVersions(list[i], list[i+1]) >= 0 || compareVersions(list[i+1], list[i]) <= 0 {
				t.Errorf("%s is before %s", list[i], list[i+1])
			}
		}
	}
	for _, same := range [][2]string{{"2.5.1+cpu", "2.5.1"}, {"8.1.RC1", "8.1.rc1"}, {"5.10", "5.10.0"}, {"v0.9.0rc2", "0.9.0rc2"}} {
		if compareVersions(same[0], same[1]) != 0 {
			t.Errorf("%s is %s", same[0], same[1])
		}
	}
	for v, want := range map[string]bool{"7.3.0": true, "7.2": false, "13.2": true, "13": true, "14.0": false} {
		if inRange(v, "7.3", "13") != want {
			t.Errorf("%s in 7.3 to 13: want %t", v, want)
		}
	}
}

// TestDriverRanges is the driver's own comparison, byte for byte.
func TestDriverRanges(t *testing.T) {
	list := []facts.Range{{From: "23.0.0", To: "23.0.0."}, {From: "24.1", To: "24.1."}}
	for v, want := range map[string]bool{"24.1.rc2": true, "24.1.0.3": true, "23.0.0.1": true, "23.0.rc2": false, "25.0.rc1": false, "24": false, "": false} {
		if names(list, v) != want {
			t.Errorf("%q: want %t", v, want)
		}
	}
	if !names([]facts.Range{{From: "7.0.0", To: "7.2.99"}}, "7.1.0.11.220") || names([]facts.Range{{From: "7.0.0", To: "7.2.99"}}, "7.7.0.1.231") {
		t.Error("firmware ranges")
	}
}

func TestRangesOfNumbers(t *testing.T) {
	r := parseRanges("0-3,8 60000-60031\n")
	for n, want := range map[int]bool{0: true, 3: true, 4: false, 8: true, 60031: true, 60032: false} {
		if r.holds(n) != want {
			t.Errorf("%d: want %t", n, want)
		}
	}
	for _, odd := range []string{"", "x", "3-1", "-5", "1-", "0-99999999999"} {
		if got := parseRanges(odd); len(got) > 0 {
			t.Errorf("%q gave %v", odd, got)
		}
	}
}
