package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// joint is how many questions of one kind are put as one, so that a look costs
// the host few processes.
type joint struct {
	words func(salt string, qs []Question) []string                      // of a shell
	split func(salt string, qs []Question, stdout, stderr string) []part // one for each question
}

// part is what was understood of one question.
type part struct {
	text string
	err  error
}

// joints by the kind that leads; see jointOf.
var joints = map[Kind]joint{
	File:   {headWords, splitHead},
	Stat:   {func(_ string, qs []Question) []string { return quoteAll(statArgv(union(qs))) }, splitStat},
	Glob:   {globWords, splitGlobs},
	Link:   {scriptWords, splitLinks},
	Disk:   {scriptWords, splitDisks},
	Python: {pythonWords, splitPython},
}

// jointOf gives the kind that q can be joined with. The names of files have to
// be such that every tool prints them as they are.
func jointOf(q Question) (Kind, bool) {
	switch q.Kind {
	case Python, Packages, TorchABI:
		return Python, true
	case File, Glob, Link, Disk, Stat:
		return q.Kind, !slices.ContainsFunc(q.Args, func(p string) bool {
			return !path.IsAbs(p) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`'"\`, r) })
		})
	}
	return "", false
}

// union is one question about the paths of all, each once.
func union(qs []Question) Question {
	u := Question{Kind: qs[0].Kind}
	for _, q := range qs {
		for _, p := range q.Args {
			if !slices.Contains(u.Args, p) {
				u.Args = append(u.Args, p)
			}
		}
	}
	return u
}

func failAll(qs []Question, err error) []part { return slices.Repeat([]part{{err: err}}, len(qs)) }

// alone makes a shape of a split.
func alone(split func(string, []Question, string, string) []part) func(Question, string, string) (string, error) {
	return func(q Question, stdout, stderr string) (string, error) {
		p := split("", []Question{q}, stdout, stderr)[0]
		return p.text, p.err
	}
}

func scriptWords(_ string, qs []Question) []string {
	words := []string{"sh", "-c", formWord(forms[qs[0].Kind].text), "sh"}
	for _, q := range qs {
		words = append(words, quote(q.Args[0]))
	}
	return words
}

// headWords lets one head(1) read many files. The line it puts before each names
// the file; the salt, a way around that leads back, keeps a file from writing
// such lines itself.
func headWords(salt string, qs []Question) []string {
	argv := []string{"head", "-c", "1048577", "--"}
	for _, p := range union(qs).Args {
		argv = append(argv, salt+p[1:])
	}
	return quoteAll(argv)
}

// salted is the prefix of headWords: "/", then for each of 24 bits of the nonce
// one of two ways to stay there.
func salted(nonce string) string {
	salt := "/"
	for i := range 24 {
		salt += []string{".//", "/./"}[nonce[i/2%len(nonce)]>>(i%2)&1]
	}
	return salt
}

func splitHead(salt string, qs []Question, stdout, stderr string) []part {
	found := map[string]part{}
	var last string // the file whose content comes
	rest := stdout
	for _, p := range union(qs).Args {
		name := salt + p[1:]
		if before, after, ok := strings.Cut("\n"+rest, "\n==> "+name+" <==\n"); ok {
			found[last] = part{text: strings.TrimPrefix(before, "\n")}
			last, rest = p, after
		} else {
			found[p] = part{err: errors.New("it failed and said nothing")}
		}
	}
	found[last] = part{text: rest}
	for _, l := range lines(stderr) {
		if p := named(l, salt, union(qs).Args); p != "" {
			found[p] = part{err: classify([]byte(strings.ReplaceAll(l, salt, "/")))}
		}
	}
	parts := make([]part, len(qs))
	for i, q := range qs {
		parts[i] = found[q.Args[0]]
	}
	return parts
}

// named finds the path that a message of a tool is about: 'path' or path:.
func named(line, salt string, paths []string) string {
	for _, p := range paths {
		name := salt + strings.TrimPrefix(p, "/")
		if salt == "" {
			name = p
		}
		if strings.Contains(line, "'"+name+"'") || strings.Contains(line, " "+name+":") {
			return p
		}
	}
	return ""
}

func splitStat(_ string, qs []Question, stdout, stderr string) []part {
	at, err := statLines(union(qs).Args, stdout, stderr)
	if err != nil {
		return failAll(qs, err)
	}
	parts := make([]part, len(qs))
	for i, q := range qs {
		for _, p := range q.Args {
			parts[i].text += at[p]
		}
	}
	return parts
}

// splitGlobs: an empty line ends the paths of each; what may not be seen stands
// on stderr.
func splitGlobs(_ string, qs []Question, stdout, stderr string) []part {
	denied := map[string]error{}
	for _, l := range lines(stderr) {
		if err := classify([]byte(l)); !errors.Is(err, fs.ErrNotExist) {
			for _, q := range qs {
				if dir := globDir(q); named(l, "", []string{dir}) != "" {
					denied[dir] = cmp.Or(denied[dir], err)
				}
			}
		}
	}
	parts := make([]part, len(qs))
	rest := stdout
	for i, q := range qs {
		list, after, ok := strings.Cut("\n"+rest, "\n\n")
		if rest = after; !ok {
			return failAll(qs, fmt.Errorf("%w: %s", errForm, clip(stdout)))
		}
		if list = strings.TrimPrefix(list, "\n"); list != "" {
			list += "\n"
		}
		parts[i] = part{list, denied[globDir(q)]}
	}
	return parts
}

// splitLinks reads for each "=target", "-" where there is no link, and "!"
// where readlink failed.
func splitLinks(_ string, qs []Question, stdout, stderr string) []part {
	said := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if len(said) != len(qs) {
		return failAll(qs, fmt.Errorf("%w: %s", errForm, clip(stdout)))
	}
	parts := make([]part, len(qs))
	for i, q := range qs {
		target, link := strings.CutPrefix(said[i], "=")
		switch {
		case link:
			parts[i].text = target + "\n"
		case said[i] == "-":
			parts[i].err = fmt.Errorf("%s: not a link: %w", q.Args[0], fs.ErrNotExist)
			for _, l := range lines(stderr) {
				if named(l, "", q.Args[:1]) != "" || len(qs) == 1 {
					parts[i].err = classify([]byte(l))
				}
			}
		default:
			parts[i].err = errors.New("the target of the link cannot be read as one line")
		}
	}
	return parts
}

// splitDisks reads the lines of df -Pk and, where all are there, of df -Pi, in
// the order of the paths, and /proc/mounts.
func splitDisks(_ string, qs []Question, stdout, _ string) []part {
	space, rest, _ := strings.Cut(stdout, "\ninodes\n")
	inodes, mounts, _ := strings.Cut("\n"+rest, "\nmounts\n")
	kb, files := lines(space), lines(inodes)
	if len(kb) < len(qs) {
		return failAll(qs, fmt.Errorf("%w: %s", errForm, clip(space)))
	}
	kb, files = kb[len(kb)-len(qs):], files[max(0, len(files)-len(qs)):]
	parts := make([]part, len(qs))
	for i := range qs {
		count := ""
		if len(files) == len(qs) {
			count = files[i]
		}
		parts[i].text, parts[i].err = diskOf(kb[i], count, mounts)
	}
	return parts
}

func pythonWords(_ string, qs []Question) []string {
	words := []string{"python3", "-c", formWord("many.py")}
	for _, q := range qs {
		words = append(append(words, formWord(forms[q.Kind].text), strconv.Itoa(len(q.Args))), quoteAll(q.Args)...)
	}
	return words
}

// splitPython reads "EXIT BYTES BYTES", stdout and stderr of each.
func splitPython(_ string, qs []Question, stdout, stderr string) []part {
	parts := failAll(qs, classify([]byte(stderr)))
	rest := []byte(stdout)
	for i := range qs {
		head, body, _ := bytes.Cut(rest, []byte("\n"))
		var exit, out, said int
		if n, err := fmt.Sscanf(string(head), "%d %d %d", &exit, &out, &said); err != nil || n != 3 || out < 0 || said < 0 || out > len(body) || said > len(body)-out {
			break
		}
		parts[i] = part{text: string(body[:out])}
		if exit != 0 {
			parts[i] = part{err: classify(body[out : out+said])}
		}
		rest = body[out+said:]
	}
	return parts
}
