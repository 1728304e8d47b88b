package install

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// proxies is how this machine reaches addresses, from the variables that curl
// and pip read as well.
type proxies struct {
	http, https *url.URL
	except      []string // no_proxy
}

// proxiesOf reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in capitals
// or not. An address may lack its scheme, as in "proxy:3128".
func proxiesOf(env func(string) string) (p proxies, err error) {
	get := func(names ...string) string {
		for _, n := range names {
			for _, n := range []string{n, strings.ToLower(n)} {
				if v := strings.TrimSpace(env(n)); v != "" {
					return v
				}
			}
		}
		return ""
	}
	for _, x := range []struct {
		name string
		to   **url.URL
	}{{"HTTP_PROXY", &p.http}, {"HTTPS_PROXY", &p.https}} {
		v := get(x.name, "ALL_PROXY")
		if v == "" {
			continue
		}
		if !strings.Contains(v, "://") {
			v = "http://" + v
		}
		u, bad := url.Parse(v)
		if bad != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" && u.Scheme != "socks5h" {
			err = &report.Problem{What: report.T("%s is not the address of a proxy", "%s 不是有效的代理地址", x.name),
				Do: report.T("give it as http://PROXY:PORT", "写成 http://PROXY:PORT 的形式"), Exit: report.ExitUsage}
			continue
		}
		*x.to = u
	}
	for w := range strings.FieldsFuncSeq(get("NO_PROXY"), func(r rune) bool { return r == ',' || r == ' ' }) {
		p.except = append(p.except, strings.ToLower(w))
	}
	return p, err
}

func (p proxies) addresses() (out []string) {
	for _, u := range []*url.URL{p.http, p.https} {
		if u != nil {
			out = append(out, u.String())
		}
	}
	return out
}

// pick is for http.Transport. The loopback is never reached through a proxy.
func (p proxies) pick(r *http.Request) (*url.URL, error) { return p.of(r.URL), nil }

func (p proxies) of(u *url.URL) *url.URL {
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(name)
	if name == "localhost" || err == nil && addr.IsLoopback() {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	for _, w := range p.except {
		if spared(w, name, port, addr) {
			return nil
		}
	}
	if u.Scheme == "https" {
		return p.https
	}
	return p.http
}

// spared says whether a word of no_proxy means this host: *, an address, a
// network, a name with all below it, each but the network with a port behind it.
func spared(word, name, port string, addr netip.Addr) bool {
	if word == "*" {
		return true
	}
	if net, err := netip.ParsePrefix(word); err == nil {
		return addr.IsValid() && net.Contains(addr.Unmap())
	}
	if a, err := netip.ParseAddr(strings.Trim(word, "[]")); err == nil {
		return addr.IsValid() && a.Unmap() == addr.Unmap()
	}
	if i := strings.LastIndexByte(word, ':'); i >= 0 {
		if word[i+1:] != port {
			return false
		}
		word = strings.Trim(word[:i], "[]")
	}
	word = strings.TrimPrefix(strings.TrimPrefix(word, "*"), ".")
	return word != "" && (name == word || strings.HasSuffix(name, "."+word))
}
