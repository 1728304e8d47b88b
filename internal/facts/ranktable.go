package facts

import (
	"encoding/json"
	"fmt"
)

// RankTable is the file that tells a job on several hosts who is who. Keys are
// all the names that its objects have.
type RankTable struct {
	Version string       `json:"version,omitempty"`
	Count   string       `json:"server_count,omitempty"` // as written
	Servers []RankServer `json:"server_list,omitempty"`
	Keys    []string     `json:"keys,omitempty"`
}

// RankServer is one host of a rank table.
type RankServer struct {
	ID      string       `json:"server_id,omitempty"` // its address, as a rule
	Devices []RankDevice `json:"device,omitempty"`
}

// RankDevice is one NPU of a rank table; all three are as written.
type RankDevice struct {
	ID   string `json:"device_id"`
	IP   string `json:"device_ip"`
	Rank string `json:"rank_id"`
}

// loose is a word or a number: both are in use.
type loose string

func (l *loose) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*l = loose(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("want a word or a number, got %s", quoted(string(b)))
	}
	*l = loose(n)
	return nil
}

// rankTable reads the JSON of a rank table; the file may have any further keys.
func rankTable(s string) (RankTable, error) {
	var raw struct {
		Version loose `json:"version"`
		Count   loose `json:"server_count"`
		List    []struct {
			ID     loose `json:"server_id"`
			Device []struct {
				ID   loose `json:"device_id"`
				IP   loose `json:"device_ip"`
				Rank loose `json:"rank_id"`
			} `json:"device"`
		} `json:"server_list"`
	}
	var tree any
	if err := json.Unmarshal([]byte(s), &tree); err != nil {
		return RankTable{}, odd("JSON ("+err.Error()+")", s)
	}
	if err := json.Unmarshal([]byte(s), &raw); err != nil {
		return RankTable{}, odd("a rank table ("+err.Error()+")", s)
	}
	t := RankTable{Version: string(raw.Version), Count: string(raw.Count), Keys: keysIn(tree)}
	for _, server := range raw.List {
		to := RankServer{ID: string(server.ID)}
		for _, d := range server.Device {
			to.Devices = append(to.Devices, RankDevice{string(d.ID), string(d.IP), string(d.Rank)})
		}
		t.Servers = append(t.Servers, to)
	}
	return t, nil
}

// keysIn gives the names of all objects inside v, each once, in order.
func keysIn(v any) []string {
	seen := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			for k, inner := range x {
				seen[k] = true
				walk(inner)
			}
		case []any:
			for _, inner := range x {
				walk(inner)
			}
		}
	}
	walk(v)
	return sortedKeys(seen)
}
