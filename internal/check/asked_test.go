package check

import (
	"testing"

	"github.com/ascendctl/ascendctl/internal/report"
)

// TestWhatCouldNotBeAskedIsNotMissing: a value nobody could read makes a check
// unknown; it is neither skipped nor failed for it.
func TestWhatCouldNotBeAskedIsNotMissing(t *testing.T) {
	c := catalogue(t)
	for id, do := range map[string]func(*world){
		"os.hostname": func(w *world) { w.Facts.Hostname.Resolves = nil },
		"hw.count": func(w *world) {
			w.lose("/sys/class/dmi/id/product_name")
			w.Unknown = map[string]string{"file /sys/class/dmi/id/product_name": "permission denied"}
		},
	} {
		if f := turnedTo(t, c, a2, id, do); f.Status != report.Unknown || len(f.Because) > 0 {
			t.Errorf("%s is %s because %v: %+v", id, f.Status, f.Because, f.Evidence)
		}
	}
}
