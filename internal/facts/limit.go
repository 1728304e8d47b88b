package facts

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Limit is a resource limit. Unlimited is the largest number, so that limits
// compare as numbers.
type Limit int64

// Unlimited is no limit.
const Unlimited Limit = math.MaxInt64

// notTold is a limit the host did not speak of.
const notTold Limit = -1

// Known is false for a limit the host did not speak of.
func (l Limit) Known() bool { return l >= 0 }

func (l Limit) String() string {
	if l == Unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(int64(l), 10)
}

// MarshalJSON writes a number, or "unlimited".
func (l Limit) MarshalJSON() ([]byte, error) {
	if l == Unlimited {
		return []byte(`"unlimited"`), nil
	}
	return []byte(l.String()), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Limit) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		v, ok := parseLimit(s)
		if !ok {
			return fmt.Errorf("limit %q: want a number or unlimited", s)
		}
		*l = v
		return nil
	}
	var n int64
	if err := json.Unmarshal(data, &n); err != nil {
		return fmt.Errorf("limit %s: want a number or unlimited", data)
	}
	*l = Limit(n)
	return nil
}

func parseLimit(s string) (Limit, bool) {
	if s == "unlimited" {
		return Unlimited, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return Limit(n), err == nil && n >= 0
}
