package changes

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/url"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// policyShown is the data of the form, and of the plan, of a policy.
type policyShown struct {
	applock.Policy
	// Was is the present policy, if there is one.
	Was    applock.Policy
	Exists bool
	// Drops is true if the policy is to be dropped, Plans if the page is the plan.
	Drops, Plans bool
	Reason       string
	Limit        int
	Title        template.HTML
	Problem      string
	// seen is the policy that the plan has shown.
	seen string
}

// Seen is the present policy as text, by which the next form knows whether it has changed; empty for none.
func (s policyShown) Seen() string {
	if !s.Exists {
		return ""
	}
	return fmt.Sprint(s.Was)
}

// policyOf reads a form.
func policyOf(form url.Values) (s policyShown, err error) {
	s = policyShown{Policy: applock.Policy{Type: pages.Tidy(form.Get("type"))}, Drops: form.Get("drop") != "", Reason: pages.Tidy(form.Get("reason")), seen: form.Get("seen")}
	if s.Drops {
		return s, nil
	}
	s.TakeWithoutReason, s.WithoutPresence = form.Get("freely") != "", form.Get("unseen") != ""
	s.HistoryLevel = applock.HistoryChanges
	if form.Get("all") != "" {
		s.HistoryLevel = applock.HistoryAll
	}
	var wrong [3]error
	s.DefaultTTL, wrong[0] = pages.ParseSpan("DefaultTTL", form.Get("default"))
	s.LongestTTL, wrong[1] = pages.ParseSpan("LongestTTL", form.Get("longest"))
	s.YieldAfter, wrong[2] = pages.ParseSpan("YieldAfter", form.Get("yield"))
	return s, errors.Join(wrong[:]...)
}

// readPolicy fills in the present policy of the type.
func (c *Changer) readPolicy(ctx context.Context, s *policyShown) error {
	if s.Type == "" {
		return nil
	}
	policies, err := c.client.Policies(ctx, s.Type)
	if len(policies) == 1 {
		s.Was, s.Exists = policies[0], true
	}
	return err
}

// policyForm is the form of the type in the address, with its present policy.
func (c *Changer) policyForm(ctx context.Context, _ access.Visitor, query url.Values) (pages.View, error) {
	s := policyShown{Policy: applock.Policy{Type: query.Get("type")}, Drops: query.Has("drop")}
	if err := c.readPolicy(ctx, &s); err != nil {
		return pages.View{}, err
	}
	if s.Exists {
		s.Policy = s.Was
	}
	return c.policyView(s, nil), nil
}

func (c *Changer) policyView(s policyShown, problem error) pages.View {
	v := pages.View{Template: "policy", Here: "policies"}
	if problem != nil {
		v.Status, s.Problem = c.Pages.Explain(problem)
		s.Plans = false
	}
	title := "title.policy"
	if s.Drops {
		title = "title.policy.drop"
	}
	s.Limit, s.Title = applock.MaxPolicyReasonLength, c.Pages.HTML(title, s.Type)
	v.Title, v.Data = pages.Plain(s.Title), s
	return v
}

// policyPage takes the form. It shows what will change, and sets or drops the policy when that is confirmed and the present one is still
// the one that was shown.
func (c *Changer) policyPage(ctx context.Context, who access.Visitor, form url.Values) (pages.View, error) {
	s, err := policyOf(form)
	for argument, text := range map[string]string{"Type": s.Type, "Reason": s.Reason} {
		if text == "" {
			err = &applock.InvalidError{Argument: argument, Reason: "is missing"}
		}
	}
	if read := c.readPolicy(ctx, &s); err == nil {
		err = read
	}
	switch {
	case errors.Is(err, applock.ErrInvalid):
		return c.policyView(s, err), nil
	case err != nil:
		return pages.View{}, err
	case form.Get("confirmed") != "" && (s.Drops && !s.Exists || !s.Drops && s.Exists && s.Policy == s.Was):
		return pages.View{Location: "policies"}, nil // the second use of a plan
	case form.Get("confirmed") == "" || s.seen != s.Seen():
		s.Plans = true
		return c.policyView(s, nil), nil
	case s.Drops:
		err = c.client.DropPolicy(ctx, applock.DropPolicyRequest{Type: s.Type, Actor: who.Person, Reason: s.Reason})
	default:
		err = c.client.SetPolicy(ctx, applock.SetPolicyRequest{Policy: s.Policy, Actor: who.Person, Reason: s.Reason})
	}
	c.Logger.InfoContext(ctx, "console: policy", slog.String("person", who.Person), slog.String("type", s.Type), slog.Bool("drop", s.Drops), failureOf(err))
	switch {
	case errors.Is(err, applock.ErrInvalid):
		return c.policyView(s, err), nil
	case err != nil && !errors.Is(err, applock.ErrNoPolicy):
		return pages.View{}, err
	}
	return pages.View{Location: "policies"}, nil
}

// unbounded refuses a person whose departments bound the changes: a policy is for the locks of all.
func unbounded(page Page) Page {
	return limited(access.Policy, func(ctx context.Context, who access.Visitor, values url.Values) (pages.View, error) {
		if who.Departments != nil {
			return pages.View{}, pages.ErrMayNot
		}
		return page(ctx, who, values)
	})
}
