//go:build linux

package install

import (
	"os"
	"strings"
	"testing"
)

// TestArchivesBehaveLikeTheVendors runs simulated packages by hand: options,
// exit codes, licence, records.
func TestArchivesBehaveLikeTheVendors(t *testing.T) {
	t.Parallel()
	w := layBare(t, openEuler)
	for _, args := range [][]string{
		{"driver", "25.3.rc1", "aarch64", "910b", "25.3.rc1"}, {"firmware", "7.8.0.2.212", "aarch64", "910b", "25.3.rc1"}, {"toolkit", "8.5.0", "aarch64"},
		{"ops", "8.5.0", "aarch64", "910b"}, {"nnal", "8.5.0", "aarch64"}, {"kernels", "8.1.RC1", "aarch64", "910b"}, {"toolkit", "8.5.1", "x86_64"}, {"docker-runtime", "26.0.0", "aarch64"},
	} {
		data, err := os.ReadFile(w.build(t, args...).From)
		if err != nil {
			t.Fatal(err)
		}
		name := "/p/" + args[0] + ".run"
		if args[2] == "x86_64" {
			name = "/p/other.run"
		}
		w.WriteFile(t, name, string(data), 0o644)
		if args[0] == "toolkit" {
			data[len(data)-9] ^= 1
			w.WriteFile(t, "/p/damaged.run", string(data), 0o644)
			w.WriteFile(t, "/p/short.run", string(data[:len(data)-400]), 0o644)
		}
	}
	for _, c := range []struct{ line, exit, says string }{
		{"bash toolkit.run --check", "0", "the archive is whole"},
		{"bash damaged.run --check", "2", "the archive is damaged"},
		{"bash short.run --check", "2", "the archive is damaged"},
		{"bash damaged.run --install --quiet", "1", "the archive is damaged"},
		{"bash toolkit.run --help", "0", "--install-for-all"},
		{"bash toolkit.run --version", "0", "8.5.0"},
		{"bash toolkit.run --list", "0", "./set_env.sh"},
		{"bash toolkit.run --noexec --extract=/p/out && cat /p/out/meta", "0", "SIMULATED"},
		{"bash other.run --install --quiet", "1", "the package is for x86_64, this machine is aarch64"},
		{"bash toolkit.run --quiet", "1", "ERR_NO:0x0004"},
		{"bash toolkit.run --install --full", "1", "exclude each other"},
		{"bash toolkit.run --install --fictional", "1", "ERR_NO:0x0004"},
		{"bash toolkit.run --install --install-path=here", "1", "ERR_NO:0x0003"},
		{"bash toolkit.run --install --install-username=x", "1", "no longer taken"},
		{"echo n | bash toolkit.run --install", "1", "the licence was not accepted"},
		{"bash ops.run --install --quiet", "1", "ERR_NO:0x0080"},
		{"bash kernels.run --install --quiet", "1", "--type is missing"},
		{"bash firmware.run --full --quiet", "1", "the driver is not installed"},
		{"su ubuntu -c 'bash driver.run --full --quiet'", "1", "do not have root permission"},
		{"bash driver.run --install --quiet", "1", "--full is"},
		{"bash driver.run --full --quiet", "1", "ERR_NO:0x0091"},
		{"useradd HwHiAiUser && bash driver.run --full --quiet", "1", "the tool ifconfig is missing"},
		{"dnf install net-tools && bash driver.run --full --quiet", "1", "/build: No such file or directory"},
		{`dnf install kernel-devel-$(uname -r) && bash driver.run --full --quiet --install-for-all && npu-smi info`, "187", "-8005"},
		{"/.laid/boot.d/host_sys_init && npu-smi info -l", "0", "Total Count                    : 8"},
		{"stat -c %a /dev/davinci7; npu-smi info | grep -c 'No running'", "0", "666\n8"},
		{"npu-smi; echo $?; npu-smi top", "211", "215\nCommand or option is not found."},
		{"bash driver.run --upgrade --quiet", "2", ""},
		{"bash firmware.run --upgrade --quiet && cat /etc/ascend_install.info", "0", "Driver_Install_Status=complete\nFirmware_Install_Path_Param=/usr/local/Ascend"},
		{"echo y | bash toolkit.run --install --install-for-all", "0", "Do you accept it?"},
		{". /usr/local/Ascend/cann/set_env.sh && echo $ASCEND_HOME_PATH", "0", "/usr/local/Ascend/cann-8.5.0"},
		{"bash nnal.run --install --quiet", "1", "source set_env.sh"},
		{". /usr/local/Ascend/cann/set_env.sh && bash nnal.run --install --quiet", "0", ""},
		{"bash ops.run --install --quiet && ls /usr/local/Ascend/cann/opp/built-in/op_impl/ai_core/tbe/kernel", "0", "ascend910b"},
		{"flock /var/log/ascend_seclog/.lock.0 bash ops.run --install --quiet", "1", "ERR_NO:0x0094"},
		{"bash docker-runtime.run --install && cat /etc/docker/daemon.json", "0", "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime"},
		{"/usr/local/Ascend/cann-8.5.0/cann_uninstall.sh && ls /usr/local/Ascend", "0", "Ascend-Docker-Runtime\ndriver\nfirmware\nnnal"},
		{"/usr/local/Ascend/firmware/script/uninstall.sh && /usr/local/Ascend/driver/script/uninstall.sh; ls /dev/davinci0 /etc/ascend_install.info", "2", "No such file"},
		{"grep -c . /var/log/ascend_seclog/operation.log && tail -n 1 /var/log/ascend_seclog/ascend_install.log", "0", "succeeded"},
	} {
		got := w.Sh(t, `cd /p; { bash -c "$1" 2>&1; echo "exit $?"; } 9>&-`, c.line)
		if !strings.Contains(got, c.says) || !strings.HasSuffix(got, "exit "+c.exit+"\n") {
			t.Errorf("%s: want exit %s and %q, got\n%s", c.line, c.exit, c.says, got)
		}
	}
}
