package infer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/oip"
)

// SimOptions describes a simulated device and its model, which gives back its
// inputs: output i is input i.
type SimOptions struct {
	// Signature has as many outputs as inputs, of the same types.
	Signature oip.Signature
	Gears     []Gear
	// Cost is s(rows): how long the device is busy with a batch, where rows is
	// the first dim of the first input (1 for a scalar). nil: no time at all.
	Cost func(rows int64) time.Duration
	// Sleep lets d pass, or returns ctx.Err(). nil: real time.
	Sleep func(ctx context.Context, d time.Duration) error
	// Fault is asked before the n-th Run (from 0) and before every Probe (n is
	// -1); what is not nil is that call's answer. After a fault of class Lost
	// every call fails with it.
	Fault func(n int) *Error
}

// simBackend stands for an NPU: like one it is busy with one batch at a time.
type simBackend struct {
	o        SimOptions
	desc     Description
	runs     atomic.Int64
	busy     chan struct{}
	lost     atomic.Pointer[Error]
	open     sync.RWMutex // read-held by every Run, for ever held after Close
	isClosed atomic.Bool
}

// OpenSim makes a simulated backend. The error is an *Error of class Reject
// when the outputs cannot be the inputs.
func OpenSim(o SimOptions) (Backend, error) {
	in, out := o.Signature.Inputs, o.Signature.Outputs
	if len(in) != len(out) {
		return nil, reject(opOpen, "%d inputs and %d outputs, a simulated model has as many of both", len(in), len(out))
	}
	for i := range in {
		if in[i].DType != out[i].DType {
			return nil, reject(opOpen, "output %q is %v, its input %q is %v", out[i].Name, out[i].DType, in[i].Name, in[i].DType)
		}
	}
	if o.Cost == nil {
		o.Cost = func(int64) time.Duration { return 0 }
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return &simBackend{o: o, busy: make(chan struct{}, 1), desc: Description{
		Signature: o.Signature,
		Platform:  "ascendctl_simulated",
		Gears:     o.Gears,
		Device:    Device{Kind: "sim", Name: "simulated, not an NPU", Simulated: true},
	}}, nil
}

func (s *simBackend) Describe() Description { return s.desc }

func (s *simBackend) Run(ctx context.Context, b *Batch) error {
	b.Times = Times{}
	// Not a plain RLock: it would wait for ever behind Close.
	if s.isClosed.Load() || !s.open.TryRLock() {
		return closed(opRun)
	}
	defer s.open.RUnlock()
	wanted, bad := checkBatch(&s.desc, b)
	if bad != nil {
		return bad
	}
	if err := s.check(opRun, int(s.runs.Add(1)-1)); err != nil {
		return err
	}
	rows := int64(1)
	if len(b.Inputs) > 0 && len(b.Inputs[0].Shape) > 0 {
		rows = b.Inputs[0].Shape[0]
	}
	if len(s.desc.Gears) > 0 {
		rows = int64(s.desc.Gears[b.Gear].Rows)
	}
	cost := s.o.Cost(rows)
	if err := s.spend(ctx, cost); err != nil {
		return canceled(opRun, err)
	}
	b.Times.Execute = cost
	for k, i := range wanted {
		in := b.Inputs[i]
		buf, err := b.room(k, in.DType, slices.Clone(in.Shape), int64(len(in.Data)))
		if err != nil {
			return err
		}
		Move(&b.Moved.Out, buf, in.Data)
	}
	return nil
}

// spend keeps the device busy for d.
func (s *simBackend) spend(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.o.Sleep(ctx, d)
}

// check answers as the script of faults says.
func (s *simBackend) check(op string, n int) error {
	if lost := s.lost.Load(); lost != nil {
		return lost
	}
	if s.o.Fault == nil {
		return nil
	}
	fault := s.o.Fault(n)
	if fault == nil {
		return nil
	}
	e := *fault
	e.Op = op
	e.Detail = fmt.Sprintf("simulated: %s", fault.Detail)
	if e.Class == Lost {
		s.lost.CompareAndSwap(nil, &e)
	}
	return &e
}

func (s *simBackend) Probe(ctx context.Context) error {
	if s.isClosed.Load() {
		return closed(opProbe)
	}
	if err := ctx.Err(); err != nil {
		return canceled(opProbe, err)
	}
	return s.check(opProbe, -1)
}

func (s *simBackend) Close() error {
	if s.isClosed.Swap(true) {
		return closed(opClose)
	}
	s.open.Lock() // and never unlocked: from here on no Run gets in
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
