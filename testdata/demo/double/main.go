// Command double makes what the demo of the ACL path needs: the double of
// libascendcl, which is simulated, and an .om of the real layout whose numbers
// the double computes with ONNX Runtime.
//
//	go run ./testdata/demo/double MODEL.onnx MODEL.om
//
// It prints the folder of the double.
package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

func main() {
	if err := compile(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "double:", err)
		os.Exit(1)
	}
	fmt.Println(fakeacl.Build(maker{}, fakeacl.Options{Profile: fakeacl.Split}).Dir)
}

// compile writes the .om with gears for up to 32 rows.
func compile(onnx, om string) error {
	text, err := os.ReadFile(onnx)
	if err != nil {
		return err
	}
	f, err := omtest.FromONNX(text, omtest.File{Generation: omtest.Wide, SoC: "Ascend310P3", Work: 1 << 20}, 0, 1, 2, 4, 8, 16, 32)
	if err != nil {
		return err
	}
	return os.WriteFile(om, f.Encode(), 0o644)
}

// maker is what Build needs of a test.
type maker struct{ testing.TB }

func (maker) Helper() {}
func (maker) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, append([]any{"double:"}, args...)...)
	os.Exit(1)
}
