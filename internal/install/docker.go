package install

import (
	"slices"

	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// dockerRuntime is where the Ascend Docker Runtime lies (source: Ascend/mind-cluster).
const dockerRuntime = vendorRoot + "/Ascend-Docker-Runtime"

// dockerSteps installs the runtime and restarts what uses it, in one step: the
// restart stops containers, and without it nothing has changed.
func (j *job) dockerSteps() ([]plan.Step, error) {
	if j.docker == nil || j.User {
		return nil, nil
	}
	service, config := "docker", "/etc/docker/daemon.json"
	in := installing{step: "docker.runtime", part: "docker-runtime", pack: *j.docker, root: true,
		title:   report.T("Ascend Docker Runtime %s, and restart of its service", "Ascend Docker Runtime %s，并重启相应服务", j.docker.Version),
		options: slices.Clone(j.d.installer("docker-runtime").First), check: plan.Exists(dockerRuntime + "/ascend-docker-runtime")}
	if j.f.Tools.Value["docker"] == "" && j.f.Tools.Value["containerd"] != "" {
		service, config = "containerd", "/etc/containerd/config.toml"
		in.options = append(in.options, "--install-scene=containerd")
	}
	in.touch = []plan.Touch{{Path: config}, {Path: dockerRuntime, Tree: true}}
	f, err := j.fileOf(&in)
	if err != nil {
		return nil, err
	}
	s := j.installerStep(in, f)
	restart := [][]string{{"systemctl", "daemon-reload"}, {"systemctl", "restart", service}}
	for _, argv := range restart {
		s.Do = append(s.Do, plan.Command{Argv: argv, Always: true})
	}
	for _, argv := range restart { // undone last to first: after the files are back
		s.Do = append([]plan.Act{plan.Command{Undo: argv}}, s.Do...)
	}
	s.Risk = plan.RiskService
	j.set.Packages = append(j.set.Packages, *j.docker)
	return []plan.Step{s}, nil
}
