package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Consent is what a person agreed to.
type Consent struct {
	Yes   bool     // to the plan
	Risks []string // and to these dangers
	// Ask asks a person: about the plans (risk is empty), then about each danger
	// nobody named. nil: there is no terminal.
	Ask func(ctx context.Context, s []Shown, risk string) (bool, error)
}

// risks lists the dangers of the steps that are to be done.
func (m *Made) risks() (names []string) {
	for i, s := range m.steps {
		if s.Risk != "" && !m.kept[i] && !slices.Contains(names, s.Risk) {
			names = append(names, s.Risk)
		}
	}
	slices.Sort(names)
	return names
}

func (m *Made) changes() bool { return m.undoes != "" || slices.Contains(m.kept, false) }

func (m *Made) agreedTo(risk string) bool { return slices.Contains(m.accepted, risk) }

// Agree takes consent to plans of one or many hosts. It is refused with exit 6
// and nothing changed; with exit 64 for a danger no plan knows. A reboot nobody
// agreed to is no refusal: the run stops in front of it.
func Agree(ctx context.Context, c Consent, ms ...*Made) error {
	for _, r := range c.Risks {
		if !slices.Contains(Risks(), r) {
			return &report.Problem{
				What: report.T("--accept-risk knows no %s%s", "--accept-risk 没有 %s%s", r, report.Meant(r, Risks())),
				Do:   report.T("name some of: %s", "可选：%s", report.Same(strings.Join(Risks(), ", "))), Exit: report.ExitUsage,
			}
		}
	}
	var shown []Shown
	var need []string
	for _, m := range ms {
		if m.changes() {
			shown = append(shown, m.Show())
			need = append(need, m.risks()...)
		}
	}
	slices.Sort(need)
	need = slices.DeleteFunc(slices.Compact(need), func(r string) bool { return slices.Contains(c.Risks, r) })
	risks := slices.Clone(c.Risks)
	if len(shown) > 0 && !c.Yes {
		if err := c.ask(ctx, shown, "", need, ms); err != nil {
			return err
		}
	}
	for _, r := range need {
		err := c.ask(ctx, shown, r, need, ms)
		if err != nil && r != RiskReboot {
			return err
		}
		if err == nil {
			risks = append(risks, r)
		}
	}
	for _, m := range ms {
		m.agreed, m.accepted = true, risks
	}
	return nil
}

// ask puts one question. The refusal has the line that agrees to all that is
// still open, so that nobody is sent from one refusal to the next; a reboot is
// left out: without consent the run only stops in front of it.
func (c Consent) ask(ctx context.Context, shown []Shown, risk string, need []string, ms []*Made) error {
	p := &report.Problem{
		What: report.T("not agreed, nothing was changed", "未确认，未做任何变更"),
		Why:  report.T("the plan was declined", "变更计划已被拒绝"),
		Do:   report.T("read the plan, then agree to it", "查看变更计划后再确认"), Exit: report.ExitNotAgreed,
	}
	if risk != "" {
		p.Why = report.T("the risk %s was not accepted", "未接受风险 %s", risk)
	}
	if again := ms[0].plan.Again; again != "" {
		p.Run = again
		if !c.Yes {
			p.Run += " --yes"
		}
		if open := slices.DeleteFunc(slices.Clone(need), func(r string) bool { return r == RiskReboot }); len(open) > 0 {
			p.Run += " --accept-risk " + strings.Join(open, ",")
		}
	}
	if c.Ask == nil {
		if risk == "" {
			p.Why = report.T("consent is needed and there is no terminal to ask for it", "需要确认，但没有可用于询问的终端")
		}
		return p
	}
	ok, err := c.Ask(ctx, shown, risk)
	if err != nil {
		p.Err, p.Why = err, report.Same(err.Error())
		return p
	}
	if !ok {
		return p
	}
	return nil
}
