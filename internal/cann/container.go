package cann

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Device is a node of one NPU, by its path on the host and inside.
type Device struct {
	Name   string `json:"name"` // in a CDI file: "0"
	Node   string `json:"node"` // /dev/davinci0, /dev/vdavinci100
	Inside string `json:"inside"`
}

// Devices gives the nodes of NPUs by their physical ids; those of vNPU appear
// under the plain name inside. src: Ascend/mind-cluster ascend-docker-runtime.
func Devices(physical []int, virtual bool) (out []Device) {
	for _, id := range physical {
		n := strconv.Itoa(id)
		d := Device{Name: n, Node: "/dev/davinci" + n, Inside: "/dev/davinci" + n}
		if virtual {
			d.Node = "/dev/vdavinci" + n
		}
		out = append(out, d)
	}
	return out
}

// Container is a container with NPUs. What a generation needs beside the NPUs
// is data and stands in Nodes and Mounts (the same path inside).
type Container struct {
	Name        string   `json:"name"`
	Image       string   `json:"image"`
	Command     []string `json:"command,omitempty"`
	Devices     []Device `json:"devices"`
	Nodes       []string `json:"nodes"`
	Mounts      []string `json:"mounts"`
	Shm         string   `json:"shm"` // 1g
	HostNetwork bool     `json:"host_network,omitempty"`
	Env         []Var    `json:"env,omitempty"`
}

// Docker gives the words of `docker run`, in groups of what belongs on one line.
func (c Container) Docker() [][]string {
	first := []string{"docker", "run", "--rm", "-it", "--name", c.Name, "--shm-size=" + c.Shm}
	if c.HostNetwork {
		first = append(first, "--net=host")
	}
	out := [][]string{first}
	// nodes that belong together stand on one line, as far as one can be read
	row := func(words [][]string, most int) {
		for i, w := range words {
			if i%most == 0 {
				out = append(out, nil)
			}
			out[len(out)-1] = append(out[len(out)-1], w...)
		}
	}
	var npus, nodes [][]string
	for _, d := range c.Devices {
		path := d.Node
		if d.Inside != d.Node {
			path += ":" + d.Inside
		}
		npus = append(npus, []string{"--device", path})
	}
	for _, n := range c.Nodes {
		nodes = append(nodes, []string{"--device", n})
	}
	row(npus, 4)
	row(nodes, 3)
	for _, m := range c.Mounts {
		out = append(out, []string{"-v", m + ":" + m + ":ro"})
	}
	for _, v := range c.Env {
		out = append(out, []string{"-e", v.Name + "=" + v.Value})
	}
	out = append(out, []string{c.Image})
	if len(c.Command) > 0 {
		out = append(out, c.Command)
	}
	return out
}

// Paste is that command for a POSIX shell, over several lines.
func (c Container) Paste() string {
	var lines []string
	for _, words := range c.Docker() {
		lines = append(lines, report.Line(words...))
	}
	return strings.Join(lines, " \\\n  ")
}

// CDI gives a Container Device Interface file (YAML, cdiVersion 0.5.0): one
// device per NPU, one called all, and for each of them what every container
// needs. Image, command, shm and network do not belong into it.
func (c Container) CDI() string {
	var b strings.Builder
	b.WriteString("cdiVersion: \"0.5.0\"\nkind: " + cdiKind + "\ndevices:\n")
	node := func(indent string, d Device) {
		fmt.Fprintf(&b, "%s- path: %s\n", indent, quoted(d.Inside))
		if d.Node != d.Inside {
			fmt.Fprintf(&b, "%s  hostPath: %s\n", indent, quoted(d.Node))
		}
	}
	device := func(name string, devices ...Device) {
		fmt.Fprintf(&b, "  - name: %s\n    containerEdits:\n      deviceNodes:\n", quoted(name))
		for _, d := range devices {
			node("        ", d)
		}
	}
	for _, d := range c.Devices {
		device(d.Name, d)
	}
	if len(c.Devices) > 0 {
		device("all", c.Devices...)
	}
	b.WriteString("containerEdits:\n")
	if len(c.Nodes) > 0 {
		b.WriteString("  deviceNodes:\n")
	}
	for _, n := range c.Nodes {
		node("    ", Device{Node: n, Inside: n})
	}
	if len(c.Mounts) > 0 {
		b.WriteString("  mounts:\n")
	}
	for _, m := range c.Mounts {
		fmt.Fprintf(&b, "    - hostPath: %s\n      containerPath: %s\n      options: [ro, nosuid, nodev, rbind]\n", quoted(m), quoted(m))
	}
	return b.String()
}

const cdiKind = "huawei.com/npu"

// quoted is a string of JSON, which YAML reads as it is.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return string(b)
}
