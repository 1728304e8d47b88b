package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// runRoot runs c with elevated rights; the caller holds the turn. How is found
// out by the first command itself, without a session of its own, and kept.
func (s *SSH) runRoot(ctx context.Context, c Command) (Result, error) {
	if s.forbidden() {
		return Result{}, s.noRoot(report.T("sudo is switched off for this host", "此主机已禁用 sudo"))
	}
	how, password := s.rights()
	for try := 0; ; try++ {
		if how == markNoSudo || how == markRefused {
			return Result{}, s.noRoot(s.refusal())
		}
		r, words, err := s.run(ctx, c, how, password)
		switch words {
		case markRoot, markFree, markPassword:
			s.decide(words, "", password)
			return r, err
		case markNoSudo, markRefused:
			how = words
			s.decide(words, firstLine(r.Stderr), "")
		default: // the command is not there, or nothing ran
			return r, err
		}
		if how == markNoSudo || try == promptTries || s.o.Prompt == nil || s.storedSudo() != "" {
			continue
		}
		if password, err = s.o.Prompt(ctx, Secret{Kind: SudoPassword, Host: s.name, User: s.login.user}); err != nil {
			return Result{}, err
		}
		if how = ""; password == "" {
			how = markRefused
		}
	}
}

// forbidden is true where sudo must not be tried.
func (s *SSH) forbidden() bool { return s.sudo == "never" && s.login.user != "root" }

// rights gives what was decided, and the password where it has to be sent.
func (s *SSH) rights() (how, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.how == markRoot || s.how == markFree {
		return s.how, ""
	}
	return s.how, cmp.Or(s.secret, s.storedSudo())
}

func (s *SSH) decide(how, why, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.how, s.why = how, why
	if how == markPassword {
		s.secret = password
	}
}

// storedSudo is the password of the environment: of the variable the hosts
// file names, or of ours.
func (s *SSH) storedSudo() string {
	return cmp.Or(s.o.env(s.sudoEnv), s.o.env("ASCENDCTL_SUDO_PASSWORD"))
}

// sudoPassword is for the program of Ask, which decides for itself how to
// become root. It asks nobody: looking at a host must not stop for a question;
// a person is asked by Elevate.
func (s *SSH) sudoPassword(context.Context) string {
	how, password := s.rights()
	if how == markNoSudo || how == markRefused {
		return ""
	}
	return password
}

// Elevate decides now how to become root, asking a person when a password is
// needed, so that later questions and commands need not.
func (s *SSH) Elevate(ctx context.Context) error {
	_, err := s.Run(ctx, Command{Argv: []string{"true"}, Root: true})
	return err
}

// refusal says in words why there is no way to become root.
func (s *SSH) refusal() report.Text {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.how == markNoSudo {
		return report.T("%s is not root and there is no sudo", "%s 不是 root，且没有 sudo", s.login.user)
	}
	return report.T("sudo refuses %s: %s", "sudo 拒绝 %s：%s", s.login.user, strings.TrimPrefix(s.why, "sudo: "))
}

func (s *SSH) noRoot(why report.Text) error {
	return &report.Problem{
		What: report.T("no root rights on %s", "在 %s 上没有 root 权限", s.name),
		Why:  why,
		Do:   report.T("log in as root, allow sudo, or set ASCENDCTL_SUDO_PASSWORD", "以 root 登录、允许 sudo，或设置 ASCENDCTL_SUDO_PASSWORD"),
		Exit: report.ExitFailed, Err: errors.Join(ErrNoRoot, fmt.Errorf("%s", why.En)),
	}
}
