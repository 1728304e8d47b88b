package cmd

import (
	"slices"
	"testing"

	"github.com/ascendctl/ascendctl/internal/facts"
)

// TestVisibleDevicesAreReadAsTheRuntimeDoes: the rows were run in the vendor's
// library (facts/acl.md 5.2), but for what needs to know which ids exist.
func TestVisibleDevicesAreReadAsTheRuntimeDoes(t *testing.T) {
	for list, want := range map[string][]int{
		"0": {0}, "1,3": {1, 3}, "1, 2": {1}, "00": {0}, "1-3": {1}, "1,a": {1}, "1,2,": {1, 2},
		"": nil, " 1": nil, ",1": nil, "x": nil, "2,1": nil, "1,1": nil, "99999999999999999999": nil,
	} {
		if got := visibleIDs(list); !slices.Equal(got, want) {
			t.Errorf("%q: %d, want %d", list, got, want)
		}
	}
}

// host4 is a machine of four cards on two nodes. The cards are numbered against
// the order of the logic ids.
func host4() *stand {
	at := func(n int) *int { return &n }
	st := &stand{facts: &facts.Facts{}, total: 4}
	for i := range 4 {
		st.all.Value = append(st.all.Value, facts.Device{Logic: at(i), Phy: at(3 - i), Health: "OK"})
		st.facts.PCI.Value = append(st.facts.PCI.Value, facts.PCI{Address: string(rune('d'-i)) + "1:00.0", Generation: "310P", NUMA: (3 - i) / 2})
	}
	st.facts.PCI.Value = append(st.facts.PCI.Value, facts.PCI{Address: "00:00.0"}) // not ours
	st.facts.NUMA.Value = []facts.NUMANode{{Node: 0, CPUs: "0-3"}, {Node: 1, CPUs: "4-7"}}
	return st
}

func TestWorkersAreBoundToCPUsNearTheirDevice(t *testing.T) {
	st := host4()
	st.devices = []int{0, 3}
	cpus := []int{0, 1, 2, 3, 4, 5, 6, 7}
	if got := st.places(cpus); !slices.Equal(got[0], []int{4, 5, 6, 7}) || !slices.Equal(got[3], []int{0, 1, 2, 3}) {
		t.Errorf("%v", got)
	}
	// What the container does not let us use is not bound to.
	if got := st.places([]int{2, 3, 7}); !slices.Equal(got[3], []int{2, 3}) || got[0] != nil {
		t.Errorf("in a container: %v", got)
	}
	// Not sure which chip is which: nobody is bound.
	st.facts.PCI.Value = st.facts.PCI.Value[1:]
	if got := st.places(cpus); got != nil {
		t.Errorf("chips are missing: %v", got)
	}
}

func TestDevicesAreLockedByTheNumbersOfTheirNodes(t *testing.T) {
	st := host4()
	st.devices = []int{0, 1}
	if got := st.physical(); !slices.Equal(got, []int{3, 2}) {
		t.Errorf("%v", got)
	}
	st.all.Value = within([]int{1, 3, 9}, st.all.Value)
	st.devices = []int{0, 1, 2}
	if got := st.physical(); !slices.Equal(got, []int{2, 0, 9}) {
		t.Errorf("within a list: %v", got)
	}
}
