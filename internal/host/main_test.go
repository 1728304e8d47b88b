package host_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// TestMain fails a run of all tests when the contract met a host zero times or
// a goroutine stayed behind.
func TestMain(m *testing.M) {
	code := m.Run()
	whole := true
	for _, narrowed := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		whole = whole && flag.Lookup(narrowed).Value.String() == ""
	}
	if names := hosttest.Missing(); whole && len(names) > 0 {
		fmt.Printf("FAIL: the contract of host.Host was not run on %v\n", names)
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println("FAIL:", err)
		code = 1
	}
	os.Exit(code)
}
