package plan

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/ascendctl/ascendctl/internal/host"
)

// Group is a system group; gid "" leaves the number to the host.
func Group(name, gid string) Command {
	argv := []string{"groupadd"}
	if gid != "" {
		argv = append(argv, "-g", gid)
	}
	return Command{Argv: append(argv, name), Check: Exits("getent", "group", name), Undo: []string{"groupdel", name}, Touch: accounts()}
}

// User is an account without a password; uid "" leaves the number to the host.
// home is made when it is not empty, and goes with the account.
func User(name, uid, group, home, shell string) Command {
	argv := []string{"useradd", "-g", group, "-s", shell}
	if uid != "" {
		argv = append(argv, "-u", uid)
	}
	c := Command{Check: Exits("getent", "passwd", name), Undo: []string{"userdel", name}, Touch: append(accounts(), Touch{Path: "/var/mail/" + name})}
	if home == "" {
		argv = append(argv, "-M")
	} else {
		argv = append(argv, "-m", "-d", home)
		c.Touch = append(c.Touch, Touch{Path: home, Tree: true})
	}
	c.Argv = append(argv, name)
	return c
}

// accounts are the files account tools write; other accounts live in them too.
func accounts() (ts []Touch) {
	for _, f := range []string{"passwd", "group", "shadow", "gshadow", "subuid", "subgid"} {
		ts = append(ts, Touch{Path: "/etc/" + f, Shared: true}, Touch{Path: "/etc/" + f + "-", Shared: true})
	}
	return append(ts, Touch{Path: "/etc/.pwd.lock", Shared: true})
}

// Extract unpacks a tar archive into a folder that is there. check says that it
// was; undo removes what came.
func Extract(archive, dir string, strip int, check Check) Command {
	return Command{
		Argv:  []string{"tar", "-x", "-f", archive, "-C", dir, "--strip-components", strconv.Itoa(strip), "--no-same-owner"},
		Check: check, Touch: []Touch{{Path: dir, Tree: true}},
	}
}

// Unit is a systemd service: its file, enabled and started. home is empty for
// the system, else that of the login whose own manager runs it.
func Unit(name, text, home string) (acts []Act) {
	dir, ctl := "/etc/systemd/system/", []string{"systemctl"}
	if home != "" {
		ctl = append(ctl, "--user")
		for _, d := range []string{"/.config", "/.config/systemd", "/.config/systemd/user"} {
			acts = append(acts, Dir{Path: home + d})
		}
		dir = home + "/.config/systemd/user/"
	}
	sys := func(args ...string) []string { return slices.Concat(ctl, args) }
	var wants []Touch
	for _, t := range []string{"multi-user", "default"} {
		wants = append(wants, Touch{Path: dir + t + ".target.wants", how: "dir"}, Touch{Path: dir + t + ".target.wants/" + name})
	}
	return append(acts,
		Command{Undo: sys("daemon-reload")}, // undone last, when the file is gone
		File{Path: dir + name, Data: []byte(text), Mode: 0o644},
		Command{Argv: sys("daemon-reload"), Always: true},
		Command{
			Argv:  sys("enable", "--now", name),
			Check: All(Exits(sys("is-enabled", "--quiet", name)...), Exits(sys("is-active", "--quiet", name)...)),
			Undo:  sys("disable", "--now", name), Touch: wants,
		})
}

// Exits is a check: the command ends with 0. A command that is not there says no.
func Exits(argv ...string) Check {
	return func(ctx context.Context, h host.Host) (bool, error) {
		r, err := h.Run(ctx, host.Command{Argv: argv})
		if errors.Is(err, host.ErrNoCommand) {
			return false, nil
		}
		return err == nil && r.Exit == 0, err
	}
}

// Exists is a check: the path is there, be it a link that leads nowhere.
func Exists(name string) Check {
	return func(ctx context.Context, h host.Host) (bool, error) {
		s, err := look(ctx, h, "look", name)
		return s.kind != "", err
	}
}

// All is a check: each of them holds.
func All(checks ...Check) Check {
	return func(ctx context.Context, h host.Host) (bool, error) {
		for _, c := range checks {
			if ok, err := c(ctx, h); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}
}
