//go:build cgo && linux

package infer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"github.com/ascendctl/ascendctl/internal/acl"
)

// selfTest collects observations.
type selfTest struct {
	lib *acl.Library
	npu *NPU
	dir string // for files that are wrong on purpose
	out []Observation
}

// SelfTest asks the loaded library what the code and its double take for granted
// of it. dir is a folder for small files; model is an .om to load, or "". It
// uses the device of npu and gives everything back. After an error too it gives
// what was seen until then.
func SelfTest(ctx context.Context, lib *acl.Library, npu *NPU, dir, model string) ([]Observation, error) {
	s := &selfTest{lib: lib, npu: npu, dir: dir}
	if err := s.files(); err != nil {
		return s.out, err
	}
	s.note("signals.kept", fmt.Sprint(len(lib.Signals())))
	s.note("soc.named", yes(npu.SoC != ""))
	_, err := lib.Lane(1 << 19)
	s.note("device.bad", codeOf(err))
	s.note("probe.echo", codeOf(npu.Probe(ctx)))
	if err := npu.lane.Do(ctx, s.device); err != nil {
		return s.out, err
	}
	if model != "" {
		s.model(ctx, model)
	}
	return s.out, nil
}

func (s *selfTest) note(id, got string) { s.out = append(s.out, Observation{id, got}) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// codeOf is the code of a failure; 0 for none.
func codeOf(err error) string {
	if e, ok := errors.AsType[*acl.Error](err); ok && e.Code != 0 {
		return fmt.Sprint(e.Code)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code != 0 {
		return fmt.Sprint(e.Code)
	}
	if err != nil {
		return err.Error()
	}
	return "0"
}

// files asks for the sizes of files that are no models.
func (s *selfTest) files() error {
	wrong := map[string][]byte{"empty": {}, "garbage": bytes.Repeat([]byte{0x5a}, 4096)}
	for name, data := range wrong {
		if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return s.lib.Do(func(t *acl.Thread) error {
		var err error
		for _, file := range [][2]string{{"file.missing", "none"}, {"file.folder", "."}, {"file.empty", "empty"}, {"file.garbage", "garbage"}} {
			_, _, err = t.Need(acl.LoadOptions{Path: filepath.Join(s.dir, file[1])})
			s.note(file[0], codeOf(err))
		}
		e, _ := errors.AsType[*acl.Error](err)
		s.note("error.text", yes(e != nil && e.Detail != ""))
		_, _, err = t.Need(acl.LoadOptions{Data: wrong["garbage"][:100]})
		s.note("data.short", codeOf(err))
		return nil
	})
}

// device asks what needs a device and no model.
func (s *selfTest) device(t *acl.Thread) error {
	free, total, err := t.Memory()
	s.note("memory.told", yes(err == nil && total > 0 && free > 0 && free <= total))
	_, err = t.Malloc(1 << 50)
	s.note("memory.too_much", codeOf(err))
	const size = 1 << 20
	device, err := t.Malloc(size)
	if err != nil {
		return err
	}
	pinned, err := t.MallocHost(size)
	if err != nil {
		return err
	}
	s.note("memory.pinned_aligned", yes(uintptr(unsafe.Pointer(&pinned.Bytes()[0]))%acl.Align == 0))
	sent, back := make([]byte, size), make([]byte, size)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	err = errors.Join(t.Copy(device.All(), acl.Memory(sent)), t.Copy(acl.Memory(back), device.All()))
	s.note("copy.unpinned", yes(err == nil && bytes.Equal(sent, back)))
	s.events(t)
	return errors.Join(t.Free(device), t.Free(pinned))
}

func (s *selfTest) events(t *acl.Thread) {
	from, err := t.NewEvent()
	to, err2 := t.NewEvent()
	if err = errors.Join(err, err2); err != nil {
		s.note("event.made", codeOf(err))
		return
	}
	reached, err := t.Reached(from)
	if !errors.Is(err, acl.ErrMissing) {
		s.note("event.unrecorded", yes(reached)+" "+codeOf(err))
	}
	err = errors.Join(t.Record(from, t.Main()), t.Record(to, t.Main()), t.Sync(t.Main(), time.Second))
	s.note("sync.idle", codeOf(err))
	took, err := t.Elapsed(from, to)
	s.note("event.elapsed", yes(err == nil && took >= 0 && took < time.Second))
	s.note("event.freed", codeOf(errors.Join(t.DestroyEvent(from), t.DestroyEvent(to))))
}

// model loads a file and runs it.
func (s *selfTest) model(ctx context.Context, path string) {
	before, err := s.npu.Room(path)
	s.note("model.room", codeOf(err))
	b, err := s.npu.Open(ctx, NPUOptions{Path: path})
	s.note("model.load", codeOf(err))
	if err != nil {
		return
	}
	d := b.Describe()
	same := true
	for gear := range d.Gears {
		one, two := zeros(&d, gear), zeros(&d, gear)
		err = errors.Join(err, b.Run(ctx, one), b.Run(ctx, two))
		for i := range one.Outputs {
			first, again := one.Outputs[i].Data, two.Outputs[i].Data
			same = same && bytes.Equal(first, again)
		}
	}
	s.note("model.runs", codeOf(err))
	s.note("model.same_again", yes(same))
	if last := len(d.Gears) - 1; d.Gears[last].Pads && d.Gears[last].Rows > 1 {
		s.note("model.padding_unseen", yes(s.padded(ctx, b, &d, last)))
	}
	s.note("model.closed", codeOf(b.Close()))
	after, err := s.npu.Room(path)
	s.note("memory.returned", yes(err == nil && after.Free >= before.Free-before.Total/100))
}

// padded compares a row alone in a gear with the same row among others in it.
func (s *selfTest) padded(ctx context.Context, b Backend, d *Description, gear int) bool {
	whole, alone := zeros(d, gear), zeros(d, gear)
	for i := range alone.Inputs {
		in := &alone.Inputs[i]
		in.Shape = append([]int64{1}, in.Shape[1:]...)
		in.Data = in.Data[:len(in.Data)/d.Gears[gear].Rows]
	}
	if errors.Join(b.Run(ctx, whole), b.Run(ctx, alone)) != nil {
		return false
	}
	for i := range alone.Outputs {
		if row := alone.Outputs[i].Data; !bytes.Equal(row, whole.Outputs[i].Data[:len(row)]) {
			return false
		}
	}
	return true
}
