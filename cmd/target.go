package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// targetFlags say which machines a command is about and how to reach them.
type targetFlags struct {
	hosts, match                []string
	file, group, identity, sudo string
	parallel                    int
	acceptNew                   bool
	timeout                     durationValue
}

func (t *targetFlags) flags(f *flagSet) {
	f.in = flagsTarget
	t.timeout = durationValue(15 * time.Second)
	f.texts(&t.hosts, "host", report.T("`TARGET`: local, [user@]host[:port], a name of the hosts file, replay:FILE; repeatable (default local)",
		"目标 `TARGET`：local、[user@]host[:port]、主机清单中的名称、replay:FILE；可重复给出（默认 local）"))
	f.text(&t.file, "hosts", "", report.T("hosts `FILE` or Ansible inventory; without --host all of it", "主机清单 `FILE` 或 Ansible inventory；未给出 --host 时取全部"))
	f.text(&t.group, "group", "", report.T("only the hosts of group `NAME`", "仅取主机组 `NAME`"))
	f.texts(&t.match, "match", report.T("only hosts with the label `KEY=VALUE`; repeatable", "仅取带有标签 `KEY=VALUE` 的主机；可重复给出"))
	f.number(&t.parallel, "parallel", 32, report.T("look at `N` hosts at once", "同时查看 `N` 台主机"))
	f.StringVarP(&t.identity, "identity", "i", "", report.T("private key `FILE` that goes before all others", "优先使用的私钥 `FILE`").In(f.lang))
	f.mark("identity")
	f.text(&t.sudo, "sudo", "auto", report.T("`WHEN` to elevate: auto, always, never", "提权时机 `WHEN`：auto、always、never"))
	f.yes(&t.acceptNew, "accept-new-host-key", "", report.T("trust and write down the key of a host never seen before", "信任并记录首次见到的主机密钥"))
	f.value(&t.timeout, "timeout", report.T("`TIME` to connect", "连接超时 `TIME`"))
}

// at names a host on a command line as it was named here; nothing for this
// machine.
func (t targetFlags) at(name string) string {
	if name == "" || name == "local" {
		return ""
	}
	line := " --host " + report.Line(name)
	for _, f := range [][2]string{{"--hosts", t.file}, {"--identity", t.identity}} {
		if f[1] != "" {
			line += " " + report.Line(f[0], f[1])
		}
	}
	return line
}

// targets resolves the flags to machines, in the order they were named.
func (s *session) targets(t targetFlags) ([]host.Target, error) {
	if err := oneOf("sudo", t.sudo, "auto", "always", "never"); err != nil {
		return nil, err
	}
	if t.parallel < 1 {
		return nil, usage(report.T("--parallel %d: not a value it takes", "--parallel %d：取值无效", t.parallel), report.Text{},
			report.T("give a number from 1", "给出不小于 1 的数"), "")
	}
	var known *host.Hosts
	if t.file != "" {
		data, err := readFile("--hosts", t.file)
		if err != nil {
			return nil, err
		}
		if known, err = host.LoadHosts(t.file, data); err != nil {
			return nil, err
		}
		for _, note := range known.Notes {
			s.err.Say(report.T("note: %s", "提示：%s", note))
		}
	} else if t.group != "" || len(t.match) > 0 {
		return nil, usage(report.T("--group and --match choose from a hosts file", "--group 与 --match 从主机清单中选择"), report.Text{},
			report.T("name it with --hosts", "用 --hosts 指定主机清单"), "")
	}
	words := t.hosts
	if len(words) == 0 && known != nil {
		return known.Select(t.group, t.match...)
	}
	if len(words) == 0 {
		words = []string{first(s.app.Getenv("ASCENDCTL_HOST"), "local")}
	}
	var out []host.Target
	for _, w := range words {
		if known != nil {
			if found, ok := known.Host(w); ok {
				out = append(out, found)
				continue
			}
		}
		one, err := host.ParseTarget(w)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// connect opens the door to one machine. The key of a host nobody has seen is
// shown to the person at the terminal, never accepted silently.
func (s *session) connect(ctx context.Context, t host.Target, f targetFlags) (host.Host, error) {
	o := host.Options{
		Home: s.app.Getenv("HOME"), User: first(s.app.Getenv("USER"), s.app.Getenv("LOGNAME")), Getenv: s.app.Getenv,
		Identity: f.identity, AcceptNew: f.acceptNew, Sudo: f.sudo, Timeout: time.Duration(f.timeout),
	}
	if s.app.Ask != nil {
		o.Prompt = s.secret
	}
	h, err := host.Connect(ctx, t, o)
	var key *host.UnknownKey
	if errors.As(err, &key) && s.app.Ask != nil {
		if err := s.trust(ctx, key); err != nil {
			return nil, err
		}
		h, err = host.Connect(ctx, t, o)
	}
	return h, unreached(t, err)
}

// trust asks whether an unknown key is the right one.
func (s *session) trust(ctx context.Context, key *host.UnknownKey) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	question := report.T("%s shows the %s key %s, which nobody has seen before. Is it the right one? [y/N]",
		"%s 出示了首次见到的 %s 密钥 %s。是否为该主机的密钥？[y/N]", key.Host, key.Type, key.Fingerprint)
	answer, err := s.app.Ask(ctx, question.In(s.lang), true)
	if err != nil || !strings.EqualFold(answer, "y") && !strings.EqualFold(answer, "yes") {
		return &report.Problem{What: report.T("the key of %s was not accepted", "未接受 %s 的主机密钥", key.Host), Exit: report.ExitNotAgreed, Err: err,
			Do: report.T("compare the fingerprint with the one the host shows", "与该主机显示的指纹比对")}
	}
	return key.Trust()
}

// secret asks the person for a password. What is typed is masked everywhere
// from then on.
func (s *session) secret(ctx context.Context, q host.Secret) (string, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	question := map[host.SecretKind]report.Text{
		host.LoginPassword: report.T("Password of %s on %s:", "%s 在 %s 上的密码：", q.User, q.Host),
		host.KeyPassphrase: report.T("Passphrase of %s:", "%s 的口令：", q.File),
		host.SudoPassword:  report.T("Password for sudo of %s on %s:", "%s 在 %s 上的 sudo 密码：", q.User, q.Host),
		host.Challenge:     report.Same(q.Ask),
	}[q.Kind]
	answer, err := s.app.Ask(ctx, question.In(s.lang), q.Echo)
	s.secrets.Add(answer)
	return answer, err
}

// unreached gives a failed connection its problem and exit 5.
func unreached(t host.Target, err error) error {
	var p *report.Problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	out := &report.Problem{
		What: report.T("no answer from %s", "%s 无应答", t.Name), Why: report.Same(err.Error()),
		Do:   report.T("check the name, the network and the login", "检查名称、网络与登录方式"),
		Exit: report.ExitUnreachable, Err: err,
	}
	var key *host.UnknownKey
	if errors.As(err, &key) {
		out.Do = report.T("compare the fingerprint with the host's, then accept it once", "与该主机的指纹比对一致后，接受一次")
		out.Run = report.Line(Name, "facts", "--host", t.Name, "--accept-new-host-key")
	}
	return out
}

// outcome is what came of one machine.
type outcome[T any] struct {
	name  string
	value T
	err   error
}

// onEach does the same on every machine at once; one that fails or hangs does
// not hold up the others.
func onEach[T any](ctx context.Context, s *session, f targetFlags, ts []host.Target, do func(context.Context, host.Target, host.Host) (T, error)) []outcome[T] {
	done := host.Each(ctx, ts, f.parallel, 0, func(ctx context.Context, t host.Target) (T, error) {
		var none T
		h, err := s.connect(ctx, t, f)
		if err != nil {
			return none, err
		}
		defer h.Close()
		return do(ctx, t, h)
	})
	out := make([]outcome[T], len(ts))
	for i, d := range done {
		out[i] = outcome[T]{ts[i].Name, d.Value, d.Err}
	}
	return out
}

// why is an error as one text for a line of a fleet.
func why(err error) *report.Text {
	var p *report.Problem
	t := report.Same(err.Error())
	if errors.As(err, &p) {
		t = p.What
		if !p.Why.IsZero() {
			t = report.T("%s: %s", "%s：%s", p.What, p.Why)
		}
	}
	return &t
}

// recordFlags keep what was seen of a host.
type recordFlags struct {
	file string
	keep bool
}

func (r *recordFlags) flags(f *flagSet) {
	f.in = flagsOutput
	f.text(&r.file, "record", "", report.T("keep what was seen of the host in `FILE`, identifiers masked", "将查看到的主机记录写入 `FILE`，标识信息已脱敏"))
	f.yes(&r.keep, "keep-identifiers", "", report.T("do not mask serial numbers, names and addresses in it", "不对序列号、名称与地址脱敏"))
}

// one refuses a recording of several hosts: a file holds one.
func (r recordFlags) one(ts []host.Target) error {
	if r.file == "" || len(ts) == 1 {
		return nil
	}
	return usage(report.T("--record keeps one host, %d were named", "--record 只记录 1 台主机，实际指定了 %d 台", len(ts)), report.Text{},
		report.T("name one with --host", "用 --host 指定其中 1 台"), "")
}

// write keeps the recording; r is nil when nothing is to be kept.
func (s *session) writeRecording(o recordFlags, r *host.Recorder, wanted host.Wanted) error {
	if r == nil {
		return nil
	}
	options := host.RecordOptions{Tool: Name + " " + s.app.Build.Version, Now: s.app.Now(), Wanted: wanted, Masks: host.NewMasks()}
	if o.keep {
		options.Masks = nil
	}
	data, err := r.YAML(options)
	if err == nil {
		err = os.WriteFile(o.file, data, 0o600)
	}
	if err != nil {
		return usage(report.T("cannot write --record %s", "无法写入 --record %s", o.file), report.Same(fmt.Sprint(err)),
			report.T("name a file that can be written", "指定可写的文件"), "")
	}
	s.err.Say(report.T("Recorded: %s", "已记录：%s", o.file))
	return nil
}
