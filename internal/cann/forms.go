package cann

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Setup is an environment to be written down.
type Setup struct {
	Vars    []Var    `json:"variables"`
	Foreign []string `json:"foreign,omitempty"` // folders whose contents leave the search paths
}

// Over gives the environment that a process has after the setup, from the one
// it had before, which is left alone.
func (s Setup) Over(base map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	for _, v := range s.Vars {
		_, set := base[v.Name]
		switch {
		case v.Front != nil || v.Back != nil:
			out[v.Name] = strings.Join(slices.Concat(v.Front, s.keep(v, base[v.Name]), v.Back), ":")
		case !v.Default || !set:
			out[v.Name] = v.Value
		}
	}
	return out
}

// keep gives what of a search path stays: each folder once, none that is set
// anyway, none that is foreign, no empty one.
func (s Setup) keep(v Var, value string) (out []string) {
	for one := range strings.SplitSeq(value, ":") {
		if one != "" && !slices.Contains(out, one) && !slices.Contains(v.Front, one) && !slices.Contains(v.Back, one) && !s.foreign(one) {
			out = append(out, one)
		}
	}
	return out
}

func (s Setup) foreign(p string) bool {
	return slices.ContainsFunc(s.others(), func(f string) bool { return p == f || strings.HasPrefix(p, f+"/") })
}

// others are the foreign folders without a slash at the end; the root is none.
func (s Setup) others() (out []string) {
	for _, f := range s.Foreign {
		if f = strings.TrimRight(f, "/"); f != "" {
			out = append(out, f)
		}
	}
	return out
}

// Move is what the setup does to one variable of an environment.
type Move struct {
	Name  string   `json:"name"`
	Act   string   `json:"act"` // set, keep (it is so already, or a person chose it), drop (entries that leave a search path)
	Value string   `json:"value,omitempty"`
	Front int      `json:"front,omitempty"` // folders in front
	Kept  int      `json:"kept,omitempty"`  // entries of before that stay
	Drop  []string `json:"drop,omitempty"`
	Var   Var      `json:"var"`
}

// Moves compares the setup with an environment, in the order of the variables;
// what leaves a search path follows that variable.
func (s Setup) Moves(base map[string]string) (out []Move) {
	after := s.Over(base)
	for _, v := range s.Vars {
		m := Move{Name: v.Name, Act: "set", Value: after[v.Name], Front: len(v.Front), Var: v}
		if old, set := base[v.Name]; set && old == after[v.Name] {
			m.Act = "keep"
		}
		if v.Front != nil || v.Back != nil {
			m.Kept = len(s.keep(v, base[v.Name]))
		}
		out = append(out, m)
		var drop []string
		for one := range strings.SplitSeq(base[v.Name], ":") {
			if m.Front > 0 && s.foreign(one) && !slices.Contains(v.Front, one) && !slices.Contains(drop, one) {
				drop = append(drop, one)
			}
		}
		if drop != nil {
			out = append(out, Move{Name: v.Name, Act: "drop", Drop: drop, Var: v})
		}
	}
	return out
}

// check refuses what no environment can hold, and for lines also what a file
// of one line per variable cannot.
func (s Setup) check(lines bool) error {
	for _, v := range s.Vars {
		all := append(slices.Concat(v.Front, v.Back, s.Foreign), v.Value)
		bad := func(set string) bool {
			return slices.ContainsFunc(all, func(one string) bool { return strings.ContainsAny(one, set) })
		}
		switch {
		case !isName(v.Name):
			return unwritable(v, report.T("it is no name of a variable", "不是合法的变量名"))
		case bad("\x00"):
			return unwritable(v, report.T("its value holds a NUL byte", "取值含有 NUL 字节"))
		case lines && bad("\n\r"):
			return unwritable(v, report.T("its value holds a line break", "取值含有换行"))
		case slices.ContainsFunc(slices.Concat(v.Front, v.Back), func(one string) bool { return one == "" || strings.Contains(one, ":") }):
			return unwritable(v, report.T("a folder with a colon cannot stand in a search path", "含冒号的目录不能放入搜索路径"))
		}
	}
	return nil
}

func unwritable(v Var, why report.Text) error {
	return &report.Problem{What: report.T("cannot write the variable %q", "无法写出变量 %q", v.Name), Why: why,
		Do: report.T("give the folder another name", "更改目录名称"), Exit: report.ExitUsage}
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// comments are lines that every form here ignores.
func comments(head []string) string {
	var b strings.Builder
	for _, h := range head {
		fmt.Fprintf(&b, "# %s\n", strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, h))
	}
	return b.String()
}

func sh(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Sh writes the setup for bash, dash and zsh, also under set -u and set -e:
// loading it twice gives what loading it once gives. head are comments. It
// leaves nothing behind but the variables.
func (s Setup) Sh(head ...string) (string, error) {
	if err := s.check(false); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(comments(head))
	drop := "''"
	for _, f := range s.others() {
		drop += "|" + sh(f) + "|" + sh(f) + "/*"
	}
	// $1 goes in front, $2 is what is there, $3 goes behind. A loop over $2 by
	// expansions alone: zsh splits no words, and no command may be missing.
	fmt.Fprintf(&b, `_ascendctl_join() {
  _ascendctl_path=$1
  set -- "$1" "$2:" "$3"
  while [ -n "$2" ]; do
    case ":$_ascendctl_path:$3:" in
      *":${2%%%%:*}:"*) ;;
      *) case ${2%%%%:*} in %s) ;; *) _ascendctl_path=${_ascendctl_path:+$_ascendctl_path:}${2%%%%:*} ;; esac ;;
    esac
    set -- "$1" "${2#*:}" "$3"
  done
  _ascendctl_path=$_ascendctl_path${3:+${_ascendctl_path:+:}$3}
}
`, drop)
	for _, v := range s.Vars {
		switch {
		case v.Front != nil || v.Back != nil:
			fmt.Fprintf(&b, "_ascendctl_join %s \"${%s-}\" %s; export %s=\"$_ascendctl_path\"\n", sh(strings.Join(v.Front, ":")), v.Name, sh(strings.Join(v.Back, ":")), v.Name)
		case v.Default:
			fmt.Fprintf(&b, "[ -n \"${%s+set}\" ] || %s=%s; export %s\n", v.Name, v.Name, sh(v.Value), v.Name)
		default:
			fmt.Fprintf(&b, "export %s=%s\n", v.Name, sh(v.Value))
		}
	}
	b.WriteString("unset -f _ascendctl_join; unset _ascendctl_path\n")
	return b.String(), nil
}

// Fish writes the setup for fish 3 and later.
func (s Setup) Fish(head ...string) (string, error) {
	if err := s.check(false); err != nil {
		return "", err
	}
	quote := func(words ...string) string {
		var b strings.Builder
		for _, w := range words {
			b.WriteString(" '" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(w) + "'")
		}
		return b.String()
	}
	glob := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`)
	var drop []string
	for _, f := range s.others() {
		drop = append(drop, glob.Replace(f), glob.Replace(f)+"/*")
	}
	var b strings.Builder
	b.WriteString(comments(head))
	for _, v := range s.Vars {
		switch {
		case v.Front != nil || v.Back != nil: // fish keeps names that end in PATH as lists
			fmt.Fprintf(&b, "begin\n  set -l back%s\n  set -l all%s\n  for one in $%s\n    if test -n \"$one\"; and not contains -- $one $all $back", quote(v.Back...), quote(v.Front...), v.Name)
			for _, d := range drop {
				fmt.Fprintf(&b, "; and not string match -q --%s $one", quote(d))
			}
			fmt.Fprintf(&b, "\n      set -a all $one\n    end\n  end\n  set -gx %s $all $back\nend\n", v.Name)
		case v.Default:
			fmt.Fprintf(&b, "set -q %s; or set -gx %s%s\n", v.Name, v.Name, quote(v.Value))
		default:
			fmt.Fprintf(&b, "set -gx %s%s\n", v.Name, quote(v.Value))
		}
	}
	return b.String(), nil
}

// File writes NAME=value lines for systemd's EnvironmentFile and for readers of
// dotenv files; sh reads them, too. Such a file cannot look at what is there, so
// the search paths continue those of base. A line break is refused.
func (s Setup) File(base map[string]string, head ...string) (string, error) {
	after := s.Over(base)
	whole := Setup{}
	for _, v := range s.Vars {
		whole.Vars = append(whole.Vars, Var{Name: v.Name, Value: after[v.Name]})
	}
	for _, err := range []error{s.check(true), whole.check(true)} {
		if err != nil {
			return "", err
		}
	}
	var b strings.Builder
	b.WriteString(comments(head))
	for _, v := range whole.Vars {
		value := "'" + v.Value + "'"
		if strings.Contains(v.Value, "'") {
			value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(v.Value) + `"`
		}
		fmt.Fprintf(&b, "%s=%s\n", v.Name, value)
	}
	return b.String(), nil
}
