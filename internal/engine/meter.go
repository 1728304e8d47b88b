package engine

import "github.com/ascendctl/ascendctl/internal/metrics"

// Meter counts events: starts, ends nobody asked for, faults by action; and
// shows the state of each engine as a gauge that is 1 for one state.
func Meter(r *metrics.Registry) func(Event) {
	starts := r.Counter("ascendctl_engine_starts_total", "Processes started.", "engine")
	ends := r.Counter("ascendctl_engine_ends_total", "Ends of processes that nobody asked for.", "engine", "how")
	faults := r.Counter("ascendctl_engine_faults_total", "Faults by what they call for.", "engine", "action")
	puts := r.Counter("ascendctl_engine_quarantines_total", "Times a device was put aside.", "engine")
	state := r.Gauge("ascendctl_engine_state", "1 for the state the engine is in.", "engine", "state")
	return func(e Event) {
		if e.From != e.To {
			state.With(e.Name, string(e.From)).Set(0)
			state.With(e.Name, string(e.To)).Set(1)
			switch e.To {
			case Starting:
				starts.With(e.Name).Inc()
			case Quarantined:
				puts.With(e.Name).Inc()
			}
		}
		if e.Exit != nil && (e.From == Starting || e.From == Ready || e.From == Suspect) {
			ends.With(e.Name, e.Exit.String()).Inc()
		}
		if e.Fault != nil {
			faults.With(e.Name, string(e.Fault.Action)).Inc()
		}
	}
}
