package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds a list of CPUs, as the kernel's mask does.
const maxCPU = 1024

// Node is a NUMA node; CPUs as lscpu and /sys write them: "0-23,48-71".
type Node struct {
	ID   int
	CPUs string
}

// Seat is a device and the node it hangs on; -1 when nobody told.
type Seat struct {
	Device, Node int
}

// Place shares the CPUs of each node among its devices, in equal runs of
// neighbours. allowed are those this process may use (nil: all). A device is
// left out, and its process unbound, where its node is not known or has fewer
// than two CPUs for each of its devices: a worker has more than one busy thread.
func Place(nodes []Node, seats []Seat, allowed []int) (map[int][]int, error) {
	out := map[int][]int{}
	for _, n := range nodes {
		cpus, err := CPUList(n.CPUs)
		if err != nil {
			return nil, fmt.Errorf("NUMA node %d: %w", n.ID, err)
		}
		if allowed != nil {
			cpus = slices.DeleteFunc(cpus, func(c int) bool { return !slices.Contains(allowed, c) })
		}
		var here []int
		for _, s := range seats {
			if s.Node == n.ID && !slices.Contains(here, s.Device) {
				here = append(here, s.Device)
			}
		}
		if len(here) == 0 || len(cpus) < 2*len(here) {
			continue
		}
		slices.Sort(here)
		for i, device := range here {
			out[device] = slices.Clone(cpus[i*len(cpus)/len(here) : (i+1)*len(cpus)/len(here)])
		}
	}
	return out, nil
}

// CPUList reads a list such as "0-3,8,10-11"; sorted, each once.
func CPUList(s string) (out []int, err error) {
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		from, to, isRange := strings.Cut(part, "-")
		low, err := cpu(from)
		if err != nil {
			return nil, err
		}
		high := low
		if isRange {
			if high, err = cpu(to); err != nil {
				return nil, err
			}
		}
		if high < low {
			return nil, fmt.Errorf("CPU list %q: %q runs backwards", s, part)
		}
		for c := low; c <= high; c++ {
			out = append(out, c)
		}
		if len(out) > maxCPU*2 { // the same ones again and again
			slices.Sort(out)
			out = slices.Compact(out)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func cpu(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n >= maxCPU {
		return 0, fmt.Errorf("CPU %q: want a number from 0 to %d", s, maxCPU-1)
	}
	return n, nil
}
