package facts

import "strings"

func (l *look) kernelLog() []query {
	return []query{into(&l.KernelLog, run("dmesg"), l.logLines)}
}

// kernelLogAsRoot tries again where the kernel keeps its log from users.
func (l *look) kernelLogAsRoot() []query {
	if l.KernelLog.Known() || l.isRoot() {
		return nil
	}
	return []query{
		orInto(&l.KernelLog, asRoot(run("dmesg")), l.logLines),
		orInto(&l.KernelLog, asRoot(run("journalctl", "-k", "-b", "--no-pager")), l.logLines),
	}
}

// logWords mark the lines that say something about buses, NPUs and modules; the
// rest of a kernel log is nobody's business here.
var logWords = []string{"AER", "pcieport", "BAR", "can't assign", "Card not present", "Link Down", "19e5", "ascend", "davinci", "devmm",
	"drv_", "hisi", "hdc", "Key was rejected", "Loading of", "module verification", "Out of memory", "oom-kill"}

func (l *look) logLines(s string) (out []string, err error) {
	const most = 400
	for _, line := range lines(s) {
		hit := false
		for _, w := range logWords {
			hit = hit || strings.Contains(line, w)
		}
		for _, p := range l.NPUs() {
			hit = hit || strings.Contains(line, p.Address)
		}
		if hit {
			out = append(out, line)
		}
	}
	if len(out) > most { // the newest say most
		out = out[len(out)-most:]
	}
	return out, nil
}
