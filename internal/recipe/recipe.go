// Package recipe reads deployments that someone described: what to serve and
// how. Flags rule over a recipe, a recipe over what is built in.
package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Recipe is one deployment of a single model. Zero values leave the choice to
// the flags' defaults.
type Recipe struct {
	ID       string      `yaml:"id"`
	Title    report.Text `yaml:"title"`
	Backend  string      `yaml:"backend"` // auto, cpu, npu; npu never falls back
	Model    string      `yaml:"model"`   // path, relative to the working folder
	Name     string      `yaml:"name"`    // in addresses
	Listen   string      `yaml:"listen"`
	MaxBatch int         `yaml:"max_batch"` // rows of one run
	Source   string      `yaml:"source"`
}

// Check refuses what no flag would take.
func (r Recipe) Check() error {
	switch {
	case r.Model == "":
		return fmt.Errorf("model is missing")
	case !slices.Contains([]string{"", "auto", "cpu", "npu"}, r.Backend):
		return fmt.Errorf("backend %s: want auto, cpu or npu", r.Backend)
	case r.MaxBatch < 0:
		return fmt.Errorf("max_batch %d: want 1 or more", r.MaxBatch)
	}
	return nil
}

// Find gives the recipe of that id from the files of a book that match the
// pattern; the id may be left out where there is only one. An unknown id is a
// *report.Problem (exit 64) that lists the known ones.
func Find(b *book.Book, pattern, id string) (Recipe, error) {
	all, err := book.Rows[Recipe](b, pattern, "recipes")
	if err != nil {
		return Recipe{}, err
	}
	if id == "" && len(all) == 1 {
		return all[0], nil
	}
	ids := make([]string, len(all))
	for i, r := range all {
		if r.ID == id {
			return r, nil
		}
		ids[i] = r.ID
	}
	return Recipe{}, &report.Problem{
		What: report.T("no recipe is called %q", "没有名为 %q 的部署配方", id),
		Do:   report.T("choose one of: %s; or give the path of a file", "可用的部署配方：%s；也可给出文件路径", strings.Join(ids, ", ")),
		Exit: report.ExitUsage,
	}
}
