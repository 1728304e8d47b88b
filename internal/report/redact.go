package report

import (
	"regexp"
	"slices"
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

// announced are words that end the name of a setting whose value is secret:
// HF_TOKEN, client_secret, AWS_SECRET_ACCESS_KEY. Not max_tokens, tokenizer,
// password_env: the word must be the last.
const announced = `(?:password|passwd|passphrase|pwd|secret|token|signature|(?:api|access|secret|private|signing|encryption|account|shared)[_-]?key(?:[_-]?id)?|_auth(?:token)?|credentials?|密码|口令|令牌|密钥)`

// announcers are in every word that announced knows.
var announcers = []string{"passw", "passphrase", "pwd", "secret", "token", "signature", "key", "_auth", "credential", "密码", "口令", "令牌", "密钥"}

// shape is a way in which secrets stand in a line.
type shape struct {
	words []string
	re    *regexp.Regexp
}

// shapes are secrets that nobody registered: credentials in an address, the
// value behind a word that announces one, and tokens known by their beginning.
// Group 1 and group 2 stay. Compiled when first used, for start-up pays for
// nothing it does not need, and tried only where one of its words (in lower
// case) stands: a log has many lines and few secrets.
var shapes = sync.OnceValue(func() []shape {
	of := func(re string, words ...string) shape { return shape{words, regexp.MustCompile(re)} }
	return []shape{
		// Addresses; without a scheme only where a proxy is named.
		of(`(://)[^/\s"'<>]*(@)`, "://"),
		of(`(?i)(proxy["']?\s*[:=]\s*["']?)[^\s/@"':]+:[^\s/"']+(@)`, "proxy"),
		of(`(?i)([?&](?:(?:[\w.-]*[_.-])?(?:sig|sign|key|key-?id|auth|pwd|passwd|session|policy|ticket|code|sas|credential)|[\w.-]*(?:signature|token|secret|password|accesskeyid|key-pair-id))=)[^\s&"'#<>]+()`, "?", "&"),
		// Headers.
		of(`(?i)(authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest|apikey|negotiate|aws4-hmac-sha256)\s+)?)[^\s"',;]+()`, "authorization"),
		of(`(?i)\b((?:set-)?cookie["']?\s*:\s*["']?)[^\r\n"']+()`, "cookie"),
		// A name and its value: quoted, then bare.
		of(`(?i)(`+announced+`["']?\s*[:=：]\s*")(?:[^"\\]|\\.)*(")`, announcers...),
		of(`(?i)(`+announced+`["']?\s*[:=：]\s*')(?:[^'\\]|\\.)*(')`, announcers...),
		of(`(?i)(`+announced+`["']?\s*[:=：]\s*["']?)[^\s"'&]+()`, announcers...),
		of(`("auth"\s*:\s*")[^"]+()`, `"auth"`),
		// Words of a command line and of .netrc.
		of(`(?i)(\s--?[\w-]*(?:password|passwd|passphrase|secret|token|api-?key|access-?key)\s+["']?)[^\s"'-][^\s"']*()`, "passw", "passphrase", "secret", "token", "key"),
		of(`(\bcurl\b[^\n]*?\s(?:-u|--user)[\s=]*["']?[^\s:"']+:)[^\s"']+()`, "curl"),
		of(`(\bcurl\b[^\n]*?\s(?:-U|--proxy-user)[\s=]*["']?[^\s:"']+:)[^\s"']+()`, "curl"),
		of(`(\bsshpass\s+-p\s*["']?)[^\s"']+()`, "sshpass"),
		of(`(\b(?:echo|printf)\s+)[^|\n]+?(\s*\|\s*sudo\b)`, "sudo"),
		of(`(?i)(\blogin\s+\S+\s+password\s+)\S+()`, "login"),
		of(`(?i)((?:^|:)[ \t]*password[ \t]+)\S+([ \t]*\r?$)`, "password"),
		// Tokens that tell what they are.
		of(`\b()(?:gh[pousr]_\w{30,}|github_pat_\w{22,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{30,}|sk-(?:proj-|ant-\w+-|or-v1-)?[A-Za-z0-9]{20,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12,}|AIza[\w-]{35}|pypi-AgE[\w-]{40,}|npm_[A-Za-z0-9]{36}|dckr_pat_[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})()`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-", "xox", "akia", "asia", "ltai", "aiza", "pypi-", "npm_", "dckr_pat_", "eyj"),
	}
})

// pem is the one shape of many lines.
var pem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?s:.*?)(-----END [A-Z ]*PRIVATE KEY-----|\z)`)
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
	if strings.Contains(s, "PRIVATE KEY-----") {
		s = pem().ReplaceAllString(s, "${1}"+Mask+"${2}")
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(masked(line))
	}
	return b.String()
}

func masked(line string) string {
	low := strings.ToLower(line)
	for _, sh := range shapes() {
		if slices.ContainsFunc(sh.words, func(w string) bool { return strings.Contains(low, w) }) {
			line = sh.re.ReplaceAllString(line, "${1}"+Mask+"${2}")
		}
	}
	return line
}
