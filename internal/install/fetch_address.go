package install

import (
	"net/url"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// address is where an item is asked for, "" where there is no such place.
func (f *Fetcher) address(it Item) string {
	if !isWeb(f.From) {
		return it.URL
	}
	u, err := url.Parse(f.From)
	if err != nil {
		return ""
	}
	return u.JoinPath(strings.ReplaceAll(url.PathEscape(it.Name), "+", "%2B")).String()
}

func isWeb(s string) bool {
	u, err := url.Parse(s)
	return err == nil && webAddress(u)
}

// shown is an address for people: no user, no password, no values of a query.
func (f *Fetcher) shown(address string) string {
	return f.Redact.String(shownAddress(address))
}

func shownAddress(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil {
		return report.Mask
	}
	s, query := address, ""
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s, query = s[:i], "?"+report.Mask
	}
	if u.User != nil {
		scheme, rest, _ := strings.Cut(s, "://")
		s = scheme + "://" + report.Mask + rest[strings.LastIndexByte(rest[:hostEnd(rest)], '@'):]
	}
	return s + query
}

// hostEnd is where the path of an address without its scheme begins.
func hostEnd(rest string) int {
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return i
	}
	return len(rest)
}

// secret makes the redactor know what is secret in an address, as it stands
// there and decoded.
func (f *Fetcher) secret(address string) {
	if !strings.Contains(address, "://") { // a folder
		return
	}
	u, err := url.Parse(address)
	if err != nil {
		f.Redact.Add(address)
		return
	}
	if u.User != nil {
		name := u.User.Username()
		pass, both := u.User.Password()
		if !both { // https://TOKEN@host
			pass = name
		}
		f.Redact.Add(pass)
		f.Redact.Add(strings.TrimPrefix(url.UserPassword("", pass).String(), ":"))
		f.Redact.Add(url.QueryEscape(pass))
	}
	for _, pair := range strings.Split(u.RawQuery, "&") {
		if _, v, ok := strings.Cut(pair, "="); ok && len(v) >= 8 {
			f.Redact.Add(v)
			if plain, err := url.QueryUnescape(v); err == nil {
				f.Redact.Add(plain)
			}
		}
	}
}

func clipped(s string) string {
	return s[:min(len(s), 80)]
}
