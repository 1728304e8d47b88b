package settings

import (
	"errors"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
)

// Part is one thing of a host that a container is given: a row of compat/env.yaml.
type Part struct {
	ID     string   `yaml:"id"`
	Mode   string   `yaml:"mode"`  // node, mount
	Path   string   `yaml:"path"`  // {driver} is the root of the driver; a|b is the first that is there
	Chips  []string `yaml:"chips"` // generations; none = all
	Need   bool     `yaml:"need"`  // nothing works without it
	Source string   `yaml:"source"`
	Status string   `yaml:"status"`
}

// Check refuses what no container could be given.
func (p Part) Check() error {
	if p.Mode != "node" && p.Mode != "mount" {
		return errors.New("mode: want node or mount")
	}
	if !strings.HasPrefix(p.Path, "/") && !strings.HasPrefix(p.Path, "{driver}/") {
		return errors.New("path: want an absolute path")
	}
	return nil
}

type size struct {
	ID     string `yaml:"id"`
	Size   string `yaml:"size"`
	Source string `yaml:"source"`
	Status string `yaml:"status"`
}

// Given is what a container is given, beside the nodes of its NPUs.
type Given struct {
	Nodes   []string `json:"nodes"`             // below /dev
	Mounts  []string `json:"mounts"`            // same path inside
	Missing []string `json:"missing,omitempty"` // needed, and not there
	Shm     string   `json:"shm"`               // of /dev/shm: 1g
}

// Container says what a host with chips of that generation gives to a container
// that runs the engine ("" = any). there tells what the host has; driver is the
// root of its driver. Asked inside a container, Missing is what it lacks.
func Container(b *book.Book, generation, engine, driver string, there func(path string) bool) (Given, error) {
	var g Given
	parts, err := book.Rows[Part](b, file, "container")
	if err != nil {
		return g, err
	}
	sizes, err := book.Rows[size](b, file, "shm")
	if err != nil {
		return g, err
	}
	for _, p := range parts {
		if len(p.Chips) > 0 && !slices.Contains(p.Chips, generation) {
			continue
		}
		paths := strings.Split(strings.ReplaceAll(p.Path, "{driver}", driver), "|")
		i := slices.IndexFunc(paths, there)
		switch {
		case i < 0 && p.Need:
			g.Missing = append(g.Missing, paths[0])
		case i < 0:
		case p.Mode == "node":
			g.Nodes = append(g.Nodes, paths[i])
		default:
			g.Mounts = append(g.Mounts, paths[i])
		}
	}
	for _, s := range sizes {
		if s.ID == engine || g.Shm == "" {
			g.Shm = s.Size
		}
	}
	return g, nil
}
