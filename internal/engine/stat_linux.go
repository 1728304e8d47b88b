package engine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// stat is what /proc/PID/stat says (proc(5)).
type stat struct {
	pid, group int
	state      byte
	start      uint64 // in clock ticks since boot: with the id, a process's identity
}

// dead is true for one that only waits to be asked for its status.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

func readStat(pid string) (stat, error) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(data))
}

// parseStat starts behind the name, which may hold blanks and parentheses.
func parseStat(s string) (st stat, err error) {
	id, _, _ := strings.Cut(s, " ")
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return st, fmt.Errorf("stat of a process: %d fields, want 20 or more", len(f))
	}
	st.state = f[0][0]
	if st.pid, err = strconv.Atoi(id); err != nil {
		return st, err
	}
	if st.group, err = strconv.Atoi(f[2]); err != nil {
		return st, err
	}
	st.start, err = strconv.ParseUint(f[19], 10, 64)
	return st, err
}
