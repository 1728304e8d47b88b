package matrix

import (
	"slices"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Answer is what can be said about a pair or a stack.
type Answer string

const (
	Supported   Answer = "supported"
	Unsupported Answer = "unsupported" // an official refusal, a broken exact rule, or a confirmed failure
	Unknown     Answer = "unknown"     // no statement, or statements that disagree: never the same as unsupported
)

// Tier is the strength of the statement behind a supported answer.
type Tier string

const (
	Matched    Tier = "matched"    // an official pairing, or a rule the vendor states
	Tested     Tier = "tested"     // an official test report
	Cloud      Tier = "cloud"      // the mapping of a cloud provider
	Compatible Tier = "compatible" // an official compatibility cell: old features run, new ones may not
)

var tiers = []Tier{Matched, Tested, Cloud, Compatible}

// weaker gives the weaker of two tiers; an empty one does not count.
func weaker(a, b Tier) Tier {
	if slices.Index(tiers, b) > slices.Index(tiers, a) {
		return b
	}
	return a
}

// Verdict is the answer for a whole stack.
type Verdict struct {
	Verdict   Answer   `json:"verdict"`            // unsupported if any pair is, else unknown if any pair is, else supported
	Tier      Tier     `json:"tier,omitempty"`     // the weakest tier among the pairs of a supported verdict
	Parts     Parts    `json:"parts"`              // what was asked about, in canonical spelling
	Pairs     []Pair   `json:"pairs"`              // one for every rule that had something to say, worst first
	Unjudged  []string `json:"unjudged,omitempty"` // given parts that no rule has judged
	Unchecked []string `json:"unchecked"`          // parts that were not given and that a rule would judge
	DataDate  string   `json:"data_date"`          // YYYY-MM-DD of the newest layer of the matrix
}

// Pair is what one rule says about the parts it reads.
type Pair struct {
	Rule     string      `json:"rule"`               // R01 to R18
	Parts    []string    `json:"parts"`              // names of the parts judged, the asked-about one first
	Verdict  Answer      `json:"verdict"`            //
	Tier     Tier        `json:"tier,omitempty"`     // of a supported pair
	Row      string      `json:"row,omitempty"`      // FILE/ID of the row that decided: driver/8.2.RC1/25.2.0
	Text     report.Text `json:"text"`               // one sentence: why
	Source   string      `json:"source,omitempty"`   // of the row, else of the rule
	Date     string      `json:"date,omitempty"`     // of the row, else of its source, YYYY-MM[-DD]
	Status   string      `json:"status,omitempty"`   // of the row: src, seen, guess
	Conflict []Conflict  `json:"conflict,omitempty"` // statements that disagree about this row
	Nearest  []Near      `json:"nearest,omitempty"`  // for an unknown or unsupported pair: what is known beside it
}

// Conflict is a disagreement between sources that a row is known for.
type Conflict struct {
	ID   string      `json:"id,omitempty"` // CF06; empty for a note on the row itself
	Text report.Text `json:"text"`
}

// Near is a known neighbour of a pair that is not known: with this part changed
// to this value, the same rule says supported. For a version that does not
// exist it is the nearest one that does.
type Near struct {
	Part  string `json:"part"`
	Value string `json:"value"`
	Tier  Tier   `json:"tier,omitempty"`
	Row   string `json:"row,omitempty"`
}

// Old tells by how many days the data was behind a day, and whether that is
// long enough to say so: a matrix older than six months misses releases.
func (v Verdict) Old(now time.Time) (days int, old bool) {
	day, err := time.Parse(time.DateOnly, v.DataDate)
	if err != nil {
		return 0, false
	}
	days = int(now.Sub(day).Hours() / 24)
	return days, days > 183
}

// Pair finds the pair of a rule that judged the named part; nil when the rule
// had nothing to say about it.
func (v Verdict) Pair(rule, part string) *Pair {
	for i, p := range v.Pairs {
		if p.Rule == rule && slices.Contains(p.Parts, part) {
			return &v.Pairs[i]
		}
	}
	return nil
}

// sum combines the pairs; their order never matters.
func (v *Verdict) sum() {
	v.Verdict = Unknown
	for _, p := range v.Pairs {
		if p.Verdict == Supported {
			v.Verdict, v.Tier = Supported, weaker(v.Tier, p.Tier)
		}
	}
	for _, worse := range []Answer{Unknown, Unsupported} {
		if slices.ContainsFunc(v.Pairs, func(p Pair) bool { return p.Verdict == worse }) {
			v.Verdict, v.Tier = worse, ""
		}
	}
	rank := map[Answer]int{Unsupported: 0, Unknown: 1, Supported: 2}
	slices.SortStableFunc(v.Pairs, func(a, b Pair) int { return rank[a.Verdict] - rank[b.Verdict] })
}
