package check

import (
	"slices"

	"github.com/ascendctl/ascendctl/internal/host"
)

// Scene is what a person wants of the host. The zero Scene asks for nothing:
// then preflight says what the host is and judges no workload.
type Scene struct {
	Task        string   // --task: serve, convert, train, install; bench counts as serve
	CANN        string   // --cann, or the version of --for: "8.1.RC1"
	Chip        string   // --soc or the hosts file, as package names have it: 310p, 910b, a3, 950
	Engine      string   // --for: vllm-ascend, mindie, sglang, mindspore, torch, acl (om)
	Version     string   // of the engine, behind the @ of --for
	Installs    []string // what the plan of install-cann or up puts on the host: driver, cann, ...
	Managed     []string // hosts file, managed: what a provider looks after
	Product     string   // hosts file, product: "Atlas 300I Duo"
	User        string   // user of the job, where it is not the login
	Cards       int      // number of chips of the job; 0: those of Devices, else all
	Devices     []int    // --device: logic ids
	Nodes       int      // --nodes
	Ports       []int    // --listen: ports the job opens; none: the engine's own
	Uses        []string // of the recipe: ranktable, container_recipe
	RankTable   string   // --ranktable: its path on the host
	Image       string   // --image: the container image, or its tag
	Peers       []string // NPU addresses of other hosts, to be tried from here
	InstallPath string   // --install-path: where CANN goes; "" = the usual place
	ModelGiB    float64  // size of the weights; 0: not known
	JobGiB      float64  // memory the job takes on one chip; 0: not known
	Online      bool     // the plan downloads
	Deep        bool     // slow probes were asked for
}

// Of is the scene that a description names, and Wanted its inverse: a verdict
// from a recording equals the live one.
func Of(w host.Wanted) Scene {
	return Scene{Task: w.Task, CANN: w.Cann, Chip: w.Chip, Engine: w.Engine, Version: w.Version, Image: w.Image, RankTable: w.RankTable,
		Peers: w.Peers, Installs: w.Installs, Managed: w.Managed, Product: w.Product, User: w.User, Cards: w.Cards, Devices: w.Devices,
		Nodes: w.Nodes, Ports: w.Ports, Uses: w.Uses, InstallPath: w.InstallPath, Online: w.Online, Deep: w.Deep}
}

// Wanted is what a recording keeps of the scene.
func (s *Scene) Wanted() host.Wanted {
	return host.Wanted{Task: s.Task, Cann: s.CANN, Chip: s.Chip, Engine: s.Engine, Version: s.Version, Image: s.Image, RankTable: s.RankTable,
		Peers: s.Peers, Installs: s.Installs, Managed: s.Managed, Product: s.Product, User: s.User, Cards: s.Cards, Devices: s.Devices,
		Nodes: s.Nodes, Ports: s.Ports, Uses: s.Uses, InstallPath: s.InstallPath, Online: s.Online, Deep: s.Deep}
}

// want gives the number of chips the job uses; 0: nobody said.
func (s *Scene) want() int {
	if s.Cards > 0 {
		return s.Cards
	}
	return len(s.Devices)
}

func (s *Scene) multiNode() bool { return s.Nodes > 1 }

// task folds what is judged alike.
func (s *Scene) task() string {
	if s.Task == "bench" {
		return "serve"
	}
	return s.Task
}

// generation is the chip of the target in words of the catalogue.
func (s *Scene) generation() string {
	return generations[s.Chip]
}

// generations names what package names call a chip. 910 there is the first
// generation only; 910b and a3 are the second and the third.
var generations = map[string]string{
	"310": "310", "310p": "310P", "310b": "310B", "910": "A1", "910b": "A2", "a3": "A3", "A3": "A3", "950": "950",
}

func (s *Scene) installs(any ...string) bool { return overlap(s.Installs, any) }

func (s *Scene) uses(what string) bool { return slices.Contains(s.Uses, what) }

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
