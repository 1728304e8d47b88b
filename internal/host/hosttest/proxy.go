package hosttest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is a TCP relay that is as slow and as unreliable as it is told. The
// kernel of a test machine need not emulate networks.
type Proxy struct {
	Addr  string
	to    string
	delay time.Duration // each way
	room  atomic.Int64  // bytes to the server until the cut; negative: no cut
	sent  atomic.Int64  // bytes to the server so far

	mu     sync.Mutex
	conns  []net.Conn
	frozen chan struct{} // closed: nothing passes any more
	done   chan struct{}
	all    sync.WaitGroup
}

// NewProxy relays to the address to until the test ends.
func NewProxy(t testing.TB, to string, delay time.Duration) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), to: to, delay: delay, frozen: make(chan struct{}), done: make(chan struct{})}
	p.room.Store(-1)
	p.all.Go(func() { p.accept(l) })
	t.Cleanup(func() {
		l.Close()
		close(p.done)
		p.Cut()
		p.all.Wait()
	})
	return p
}

// CutAfter cuts all connections once n more bytes have gone to the server.
func (p *Proxy) CutAfter(n int64) { p.room.Store(n) }

// Sent counts the bytes that clients have sent to the server so far.
func (p *Proxy) Sent() int64 { return p.sent.Load() }

// Cut resets every connection now; new ones are still accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, not an orderly end
		}
		c.Close()
	}
	p.conns = nil
}

// Freeze lets nothing pass any more, and says so to nobody.
func (p *Proxy) Freeze() { close(p.frozen) }

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() {
			server, err := net.Dial("tcp", p.to)
			if err != nil {
				client.Close()
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			p.all.Go(func() { p.relay(server, client, &p.room) })
			p.all.Go(func() { p.relay(client, server, nil) })
		})
	}
}

type packet struct {
	due  time.Time
	data []byte
}

// relay holds each packet back for the delay; reading goes on meanwhile, so it
// costs time and not throughput.
func (p *Proxy) relay(to, from net.Conn, room *atomic.Int64) {
	line := make(chan packet, 4096)
	p.all.Go(func() {
		defer to.Close()
		for pk := range line {
			select {
			case <-time.After(time.Until(pk.due)):
			case <-p.done:
			}
			if _, err := to.Write(pk.data); err != nil {
				from.Close()
			}
		}
	})
	defer close(line)
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		select {
		case <-p.frozen:
			<-p.done
			return
		default:
		}
		if room != nil {
			p.sent.Add(int64(n))
		}
		if room != nil && room.Load() >= 0 && room.Add(-int64(n)) <= 0 {
			p.Cut()
			return
		}
		if n > 0 {
			select {
			case line <- packet{time.Now().Add(p.delay), buf[:n]}:
			case <-p.done:
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				to.Close()
			}
			return
		}
	}
}
