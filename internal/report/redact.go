package report

import (
	"regexp"
	"sort"
	"strings"
	"sync"
)

// Mask stands where a secret was.
const Mask = "***"

// Redactor takes secrets out of texts. Those it was told are masked wherever
// they stand; beside them it knows the shapes a secret commonly has. The zero
// value is ready; it is safe for concurrent use.
type Redactor struct {
	mu      sync.RWMutex
	secrets []string
}

// shapes are secrets that nobody registered: credentials in an address, and
// the value behind a word that announces one. Compiled when first used, for
// start-up pays for nothing it does not need.
var shapes = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s:@]*:?[^/\s@]*(@)`),
		regexp.MustCompile(`(?i)\b(authorization\s*[:=]\s*["']?(?:bearer|basic)\s+)[^\s"',;]+()`),
		regexp.MustCompile(`(?i)\b((?:password|passwd|secret|token|api[_-]?key|_auth(?:token)?)["']?\s*[:=]\s*["']?)[^\s"',;&]+()`),
	}
})

// Add registers a secret. Texts under four bytes are not registered: masking
// them would tear up ordinary words and protect nothing.
func (r *Redactor) Add(secret string) {
	if len(secret) < 4 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, secret)
	// Longest first, so that a secret that contains another goes whole.
	sort.SliceStable(r.secrets, func(i, j int) bool { return len(r.secrets[i]) > len(r.secrets[j]) })
}

// String gives s without secrets.
func (r *Redactor) String(s string) string {
	r.mu.RLock()
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, Mask)
	}
	r.mu.RUnlock()
	for _, re := range shapes() {
		s = re.ReplaceAllString(s, "${1}"+Mask+"${2}")
	}
	return s
}
