package infer

import (
	"bytes"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestArenaNeverGivesOnePieceTwice: pieces are apart, aligned and inside, and
// when all are back there is one free extent again.
func TestArenaNeverGivesOnePieceTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unmapped := 0
		a := newArena(alignedBytes(4096), func() { unmapped++ })
		out := map[int64]int64{}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				size := rapid.Int64Range(-1, 2000).Draw(t, "size")
				at, ok := a.take(size)
				if !ok {
					for _, e := range a.free {
						if size > 0 && e.size >= lines(size) {
							t.Fatalf("%d bytes refused, there are %d", size, e.size)
						}
					}
					return
				}
				piece, inside := a.at(at, size)
				if size <= 0 || at%lineSize != 0 || !inside || a.place(piece) != at || a.place(piece[size-1:]) != at+size-1 {
					t.Fatalf("%d bytes at %d", size, at)
				}
				for o, n := range out {
					if at < o+n && o < at+size {
						t.Fatalf("%d bytes at %d, but %d at %d are out", size, at, n, o)
					}
				}
				out[at] = size
			},
			"give": func(t *rapid.T) {
				if len(out) == 0 {
					return
				}
				at := rapid.SampledFrom(sortedKeys(out)).Draw(t, "at")
				delete(out, at)
				a.give(at)
			},
		})
		a.close()
		if _, ok := a.take(1); ok {
			t.Fatal("a closed arena gives memory")
		}
		for at := range out {
			if unmapped != 0 {
				t.Fatal("unmapped while a piece is out")
			}
			a.give(at)
		}
		if unmapped != 1 {
			t.Fatalf("unmapped %d times", unmapped)
		}
	})
}

func sortedKeys(m map[int64]int64) (keys []int64) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestArenaIsWholeAgain(t *testing.T) {
	a := newArena(alignedBytes(1024), nil)
	var at []int64
	for range 8 {
		p, _ := a.take(100)
		at = append(at, p)
	}
	if _, ok := a.take(1); ok {
		t.Error("a full arena gives memory")
	}
	for _, i := range []int{1, 3, 2, 7, 0, 5, 6, 4} {
		a.give(at[i])
	}
	if !slices.Equal(a.free, []extent{{0, 1024}}) {
		t.Errorf("free: %v", a.free)
	}
	defer func() {
		if recover() == nil {
			t.Error("a piece was given back twice")
		}
	}()
	a.give(0)
}

func TestPlaceOfForeignMemory(t *testing.T) {
	a := newArena(alignedBytes(128), nil)
	across := alignedBytes(256)
	inner := &region{across[64:128]}
	for name, got := range map[string]int64{
		"foreign": a.place(make([]byte, 8)), "empty": a.place(a.mem[:0]), "before": inner.place(across[63:70]),
		"beyond": inner.place(across[120:129]), "behind": inner.place(across[128:129]), "no region": (*region)(nil).place(across),
	} {
		if got != inline {
			t.Errorf("%s: at %d", name, got)
		}
	}
	if got := inner.place(across[127:128]); got != 63 {
		t.Errorf("the last byte at %d", got)
	}
}

func TestSharedMemoryIsSeenOnBothSides(t *testing.T) {
	mem, f, err := makeShared(8192)
	if err != nil {
		t.Fatal(err)
	}
	defer unmapShared(mem)
	defer f.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range pair {
		file := os.NewFile(uintptr(fd), "end")
		c, err := net.FileConn(file)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		defer c.Close()
		ends[i] = c.(*net.UnixConn)
	}
	block := bytes.Repeat([]byte{7}, frameBlock)
	if err := sendFile(ends[0], block, f); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, frameBlock)
	back, err := receiveFile(ends[1], got)
	if err != nil || back == nil || !bytes.Equal(got, block) {
		t.Fatalf("got %v, %v", back, err)
	}
	defer back.Close()
	there, err := openShared(back, 8192)
	if err != nil {
		t.Fatal(err)
	}
	defer unmapShared(there)
	mem[8191] = 42
	if there[8191] != 42 {
		t.Error("the other side does not see it")
	}
	if err := back.Truncate(0); err == nil {
		t.Error("shared memory can be cut, which would kill the other side")
	}
	if _, err := openShared(back, 4096); err == nil || !strings.Contains(err.Error(), "it has 8192 bytes, expected 4096") {
		t.Errorf("another length: %v", err)
	}
	plain, err := os.CreateTemp(t.TempDir(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := openShared(plain, 1); err == nil || !strings.Contains(err.Error(), "sealed") {
		t.Errorf("a plain file: %v", err)
	}
}
