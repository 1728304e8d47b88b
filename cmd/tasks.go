package cmd

import (
	"sync"

	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// tasks turns "so many bytes of this" into lines of progress, one for each name.
type tasks struct {
	ui.Reporter
	mu  sync.Mutex
	all map[string]ui.Task
}

func newTasks(r ui.Reporter) *tasks { return &tasks{Reporter: r, all: map[string]ui.Task{}} }

// set hears how far a thing is; it ends when all of it is there.
func (t *tasks) set(id string, note report.Text, done, total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	task, begun := t.all[id]
	if begun && task == nil { // it has ended: a second look at it is no news
		return
	}
	if !begun {
		task = t.Start(report.Same(id), ui.Size)
		t.all[id] = task
	}
	task.Set(done, total)
	if !note.IsZero() {
		task.Note(note)
	}
	if total > 0 && done >= total {
		task.End(nil)
		t.all[id] = nil
	}
}
