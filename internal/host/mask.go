package host

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Masks gives identifiers pseudonyms: the same value always the same one, and
// no two values the same. Addresses that share a network prefix still share
// one just as long, so what is in a subnet stays in it. Without the key, which
// is not written anywhere, nobody gets back. It is safe for concurrent use, and
// one for a whole fleet makes recordings of its hosts fit together.
type Masks struct {
	mu    sync.Mutex
	key   []byte
	given map[string]string // value -> pseudonym
	used  map[string]bool   // pseudonyms given
	count map[string]int    // kind -> names given
}

// NewMasks makes masks under a key of their own.
func NewMasks() *Masks {
	key := make([]byte, 32)
	rand.Read(key) // never fails since Go 1.24
	return newMasks(key)
}

func newMasks(key []byte) *Masks {
	return &Masks{key: key, given: map[string]string{}, used: map[string]bool{}, count: map[string]int{}}
}

// pseudo gives value its pseudonym. draw makes the try-th candidate.
func (m *Masks) pseudo(value string, draw func(try int) string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.given[value]; ok {
		return p
	}
	for try := 0; ; try++ {
		if p := draw(try); !m.used[p] || try > 1000 {
			m.given[value], m.used[p] = p, true
			return p
		}
	}
}

// name numbers the values of a kind.
func (m *Masks) name(value, kind string) string {
	return m.pseudo(value, func(int) string {
		m.count[kind]++
		return fmt.Sprintf("%s%d", kind, m.count[kind])
	})
}

// code keeps the look of a value: digits stay digits, hexadecimal letters stay
// such, other letters stay letters of their case, the rest stays.
func (m *Masks) code(value string) string {
	hex := !strings.ContainsFunc(value, func(r rune) bool {
		return (r >= 'g' && r <= 'z') || (r >= 'G' && r <= 'Z')
	})
	return m.pseudo(value, func(try int) string {
		out := []byte(value)
		for i, c := range out {
			n := m.number(fmt.Sprintf("code %d %d %s", try, i, value))
			switch letters := map[bool]uint64{true: 6, false: 26}[hex]; {
			case c >= '0' && c <= '9':
				out[i] = '0' + byte(n%10)
			case c >= 'a' && c <= 'z':
				out[i] = 'a' + byte(n%letters)
			case c >= 'A' && c <= 'Z':
				out[i] = 'A' + byte(n%letters)
			}
		}
		return string(out)
	})
}

func (m *Masks) number(text string) uint64 {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(text))
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Ranges with a meaning of their own. An address of one stays in it; those
// that name nobody stay as they are.
var (
	ranges = []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.2.0/24",
		"192.168.0.0/16", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
		"::/64", "::ffff:0:0/96", "2001:db8::/32", "fc00::/7", "fe80::/64", "ff00::/8",
	}
	kept = []string{"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/64", "ff00::/8"}
)

func inRange(a netip.Addr, set []string) bool {
	return slices.ContainsFunc(set, func(s string) bool { return netip.MustParsePrefix(s).Contains(a) })
}

// address flips each bit by what a keyed hash says of the bits before it (the
// idea of Crypto-PAn, Xu and others 2002), but never one on the way into a
// range, so that the map stays one to one.
func (m *Masks) address(a netip.Addr) netip.Addr {
	if inRange(a, kept) {
		return a
	}
	out := a.AsSlice()
	for bit := range a.BitLen() {
		head, err := a.Prefix(bit)
		if err != nil || slices.ContainsFunc(ranges, func(s string) bool {
			r := netip.MustParsePrefix(s)
			return bit < r.Bits() && head.Contains(r.Addr())
		}) {
			continue
		}
		if m.number("bit "+head.String())&1 == 1 {
			out[bit/8] ^= 0x80 >> (bit % 8)
		}
	}
	masked, _ := netip.AddrFromSlice(out)
	return masked
}

// secretKey tells by its name that a variable holds a secret.
var secretKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token$|token_|passw|secret|credential|api_?key|access_?key|private_?key|_key$|^key$|_auth$|^auth$)`)
})

// spokenSecret is a flag that announces one as its next word.
var spokenSecret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(--?[\w-]*(?:password|passwd|token|secret|api[-_]key|access[-_]key)[ \t]+)[^\s-][^\s]*`)
})

// scrub takes secrets out of what was taken and, with masks, gives identifiers
// their pseudonyms, in questions, answers and reasons alike. What it gives back
// does the same to any other text.
func scrub(taken []exchange, m *Masks) func(string) string {
	var secrets report.Redactor
	for i := range taken {
		hideEnv(&taken[i], &secrets)
	}
	clean := func(s string) string {
		parts := strings.Split(s, "\x00") // entries of an environment are texts of their own
		for i, p := range parts {
			parts[i] = spokenSecret().ReplaceAllString(secrets.String(p), "${1}"+report.Mask)
		}
		return strings.Join(parts, "\x00")
	}
	rewrite(taken, clean)
	if m == nil {
		return clean
	}
	swap := m.swap(findIdentifiers(taken))
	rewrite(taken, swap)
	return func(s string) string { return swap(clean(s)) }
}

// rewrite puts every text of what was taken through f.
func rewrite(taken []exchange, f func(string) string) {
	for i := range taken {
		x := &taken[i]
		for _, list := range [][]string{x.q.Args, x.q.Env} {
			for j := range list {
				list[j] = f(list[j])
			}
		}
		x.a.Stdout, x.a.Stderr = []byte(f(string(x.a.Stdout))), []byte(f(string(x.a.Stderr)))
		if x.a.Err != nil {
			if text := f(x.a.Err.Error()); text != x.a.Err.Error() {
				x.a.Err = recalled(text)
			}
		}
	}
}

// hideEnv empties variables whose names announce a secret, and remembers what
// they held so that it goes wherever else it stands.
func hideEnv(x *exchange, secrets *report.Redactor) {
	hide := func(entry string) string {
		k, v, ok := strings.Cut(entry, "=")
		if !ok || v == "" || !secretKey().MatchString(k) {
			return entry
		}
		if len(v) >= 8 {
			secrets.Add(v)
		}
		return k + "=" + report.Mask
	}
	for i, e := range x.q.Env {
		x.q.Env[i] = hide(e)
	}
	environ := x.q.Kind == File && len(x.q.Args) == 1 && strings.HasSuffix(x.q.Args[0], "/environ")
	printed := x.q.Kind == Exec && len(x.q.Args) == 1 && (x.q.Args[0] == "env" || x.q.Args[0] == "printenv")
	sep := "\x00"
	switch {
	case printed:
		sep = "\n"
	case x.q.Kind != Env && !environ:
		return
	}
	entries := strings.Split(string(x.a.Stdout), sep)
	for i, e := range entries {
		entries[i] = hide(e)
	}
	x.a.Stdout = []byte(strings.Join(entries, sep))
}

// swap gives a function that puts pseudonyms in place of identifiers where
// they stand as words of their own.
func (m *Masks) swap(found map[string]string) func(string) string {
	if len(found) == 0 {
		return func(s string) string { return s }
	}
	values := make([]string, 0, len(found))
	for v := range found {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	masked := make(map[string]string, len(found))
	for i, v := range values {
		masked[v] = m.mask(v, found[v])
		values[i] = regexp.QuoteMeta(v)
	}
	every := regexp.MustCompile(strings.Join(values, "|"))
	return func(s string) string {
		var out strings.Builder
		done := 0
		for _, at := range every.FindAllStringIndex(s, -1) {
			if v := s[at[0]:at[1]]; standsAlone(s, at[0], at[1]) {
				out.WriteString(s[done:at[0]] + masked[v])
				done = at[1]
			}
		}
		return out.String() + s[done:]
	}
}

// standsAlone is false inside a longer word or a longer dotted number.
func standsAlone(s string, from, to int) bool {
	if from > 0 && wordByte(s[from-1]) || to < len(s) && wordByte(s[to]) {
		return false
	}
	if from > 1 && s[from-1] == '.' && digit(s[from-2]) && digit(s[from]) {
		return false
	}
	return !(to+1 < len(s) && s[to] == '.' && digit(s[to+1]) && digit(s[to-1]))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
func wordByte(c byte) bool {
	return digit(c) || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// mask makes the pseudonym of a value of that kind.
func (m *Masks) mask(value, kind string) string {
	switch kind {
	case "address":
		a, err := netip.ParseAddr(value)
		if err != nil {
			return value
		}
		return m.address(a).String()
	case "mac":
		same := strings.ToLower(strings.ReplaceAll(value, "-", ":"))
		mac := m.pseudo(same, func(try int) string {
			n := m.number(fmt.Sprintf("mac %d %s", try, same))
			return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32)) // 02: locally administered
		})
		return strings.ReplaceAll(mac, ":", value[2:3])
	case "code":
		return m.code(value)
	}
	return m.name(value, kind)
}
