package plan

import (
	"context"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Rolled is what came of one host of a fleet.
type Rolled struct {
	Host string `json:"host"`
	Outcome
	Err error `json:"-"`
}

// Roll runs plans that were agreed to, serial hosts at a time (one when zero),
// in order. After the first failure no further host is begun; those that run
// are let finish, and the rest are named as not done.
func Roll(ctx context.Context, ms []*Made, serial int) []Rolled {
	out := make([]Rolled, len(ms))
	for i, m := range ms {
		out[i] = Rolled{Host: m.site.h.String(), Outcome: Outcome{State: NotDone}}
	}
	type ended struct {
		i   int
		out Outcome
		err error
	}
	ends := make(chan ended)
	next, running, failed := 0, 0, false
	for {
		for ; running < max(serial, 1) && next < len(ms) && !failed && ctx.Err() == nil; next, running = next+1, running+1 {
			go func(i int) {
				o, err := ms[i].Run(ctx)
				ends <- ended{i, o, err}
			}(next)
		}
		if running == 0 {
			break
		}
		e := <-ends
		running--
		out[e.i].Outcome, out[e.i].Err = e.out, e.err
		failed = failed || e.err != nil
	}
	for i := range out {
		if out[i].State == NotDone && out[i].Err == nil && ctx.Err() != nil {
			out[i].Err = context.Cause(ctx)
		}
	}
	return out
}

// Exit is the status of a whole fleet: the worst of its hosts.
func Exit(rolled []Rolled) report.Exit {
	codes := make([]report.Exit, len(rolled))
	for i, r := range rolled {
		if r.Err != nil {
			codes[i] = exitOf(r.Err)
		}
	}
	return report.Worst(codes...)
}
