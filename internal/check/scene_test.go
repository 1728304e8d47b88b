package check

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/host"
)

// TestEveryFieldOfATargetHasAnOrigin: what a description can say, a person can.
func TestEveryFieldOfATargetHasAnOrigin(t *testing.T) {
	has := map[string]Origin{}
	for _, o := range Origins() {
		if o.Flag == "" && o.Key == "" && o.Derived.IsZero() {
			t.Errorf("%s comes from nowhere", o.Field)
		}
		has[o.Field] = o
	}
	fields := reflect.TypeFor[host.Wanted]()
	for i := range fields.NumField() {
		key, _, _ := strings.Cut(fields.Field(i).Tag.Get("yaml"), ",")
		if _, ok := has[key]; !ok {
			t.Errorf("target.%s has no flag, no key of the hosts file and no derivation", key)
		}
		delete(has, key)
	}
	for field := range has {
		t.Errorf("target has no field %s", field)
	}
}

// TestARecordingKeepsTheScene: every field of a target survives the way into a
// scene and back.
func TestARecordingKeepsTheScene(t *testing.T) {
	w := host.Wanted{}
	v := reflect.ValueOf(&w).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString("x")
		case []string:
			f.Set(reflect.ValueOf([]string{"y"}))
		case []int:
			f.Set(reflect.ValueOf([]int{7}))
		case bool:
			f.SetBool(true)
		case int:
			f.SetInt(3)
		}
		if v.Field(i).IsZero() {
			t.Fatalf("no value for %s", v.Type().Field(i).Name)
		}
	}
	s := Of(w)
	if d := cmp.Diff(w, s.Wanted()); d != "" {
		t.Error(d)
	}
}
