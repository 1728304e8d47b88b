package facts

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/ascendctl/ascendctl/internal/host"
)

// FuzzVersionFiles feeds one text to the parsers of all files and small
// commands: no crash, and what is known is valid text.
func FuzzVersionFiles(f *testing.F) {
	for _, seed := range []string{
		"Version=24.1.rc3\nascendhal_version=7.35.23\nInnerversion=V100R001C19SPC001B124\ncompatible_version=[V100R001C13],[V100R001C15]\ncompatible_version_fw=[7.0.0,7.5.99]\n",
		"Version=7.5.0.1.129\ncompatible_version_drv=[23.0.0,23.0.0.],[24.1,24.1.]\n",
		"Driver_Install_Path_Param=/usr/local/Ascend\r\nDriver_Install_Status=complete\r\n",
		"NAME=\"openEuler\"\nID=\"openEuler\"\nVERSION_ID=\"22.03\"\n", "MemTotal:       2146435072 kB\n",
		"[always] madvise never\n", "/dev/davinci0 0660 HwHiAiUser HwHiAiUser 1000 1000 237 0\n",
		"0000:c1:00.0 vendor=0x19e5 device=0xd802 class=0x120000 current_link_speed=16.0_GT/s_PCIe\n",
		"/usr/local/Ascend/cann l 777 root root 0 0 10 1764288000\n", "uid=0\ngid=0\nuser=root\nhome=/root\ngroups=root:0,a:b:7\n",
		"total_kb=100\nused_kb=50\navail_kb=50\noptions=ro,noexec\n", "411203\t1001\tml\t1764288000\tvllm\tpython3 -m vllm\n",
		`{"runtimes": {"ascend": {"path": "/usr/bin/x"}}}`, "dev_id:0, tls switch[0](0:disable, 1:enable)\n", "[[[,],]=[\x00\xff", "",
	} {
		f.Add([]byte(seed))
	}
	o := knowledge(f)
	o.Reach, o.PID, o.MultiNode = []string{"a"}, 1, true
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &fakeHost{answer: func(q host.Question) host.Answer {
			if isSmi(q) { // has a fuzz test of its own
				return host.Answer{State: host.Absent}
			}
			return host.Answer{State: host.Known, Result: host.Result{Stdout: data}}
		}}
		got := Collect(t.Context(), h, o)
		out, err := json.Marshal(got)
		if err != nil || !utf8.Valid(out) {
			t.Fatalf("not JSON: %v", err)
		}
		for _, s := range []string{got.Driver.Value.Version, got.Firmware.Value.Version, got.Kernel.Value, got.OS.Value.ID} {
			if !utf8.ValidString(s) {
				t.Errorf("%q is no text", s)
			}
		}
		Diff(&got, &got)
	})
}
