package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ticks clicks on the tick box of a row, with Shift or without.
func (p person) ticks(t *testing.T, row int, shift bool) {
	t.Helper()
	p.do(t, chromedp.Evaluate(fmt.Sprintf(`document.querySelectorAll("tbody [name=lock]")[%d].dispatchEvent(new MouseEvent("click",
		{bubbles: true, cancelable: true, shiftKey: %t})); 0`, row, shift), nil))
}

// keys presses keys once the script runs that takes them.
func (p person) keys(t *testing.T, keys string) {
	t.Helper()
	p.awaits(t, "document.readyState === 'complete' && !document.getElementById('keys-open').hidden")
	p.do(t, chromedp.KeyEvent(keys))
}

const bar = `getComputedStyle(document.getElementById("s")).display`

// Goal: what is ticked is marked and counted in a bar that stays in sight, over pages and while others change locks; a range, a page and the
// whole list are ticked at once, by the mouse and by keys; an answer ends the ticks. Method: two pages of a list, a lock that another releases, and
// an extension of the list.
func TestTicks(t *testing.T) {
	t.Parallel()
	d, p := crowded(t), newPerson(t)
	p.opens(t, d, "locks?type=customer")
	p.keys(t, "r") // nothing is ticked, and no row is in the focus
	p.awaits(t, bar+` === "none" && document.querySelector("[formaction=release]").disabled`)
	p.ticks(t, 1, false)
	p.has(t, "1 selected")
	p.ticks(t, 4, true)
	p.has(t, "4 selected", "Hand over", "Extend")
	p.awaits(t, `(({top, bottom}) => top > 0 && bottom <= innerHeight)(document.getElementById("s").getBoundingClientRect())`)
	for _, width := range []int64{390, 1280} {
		p.wide(t, width)
		for _, what := range append(p.axe(t), asks[[]string](t, p, outside)...) {
			t.Errorf("the bar at %d pixels: %s", width, what)
		}
	}
	p.shoots(t, "ticked")
	const color = `getComputedStyle(document.querySelectorAll("tbody tr")[%d]).boxShadow`
	if none, some := asks[string](t, p, fmt.Sprintf(color, 6)), asks[string](t, p, fmt.Sprintf(color, 2)); none == some {
		t.Errorf("a ticked row looks as others: %s", some)
	}

	p.opens(t, d, "locks?type=customer&after=customer%3A300880") // as the link to another page has it
	p.has(t, "4 selected")
	p.keys(t, "jjx")
	p.has(t, "5 selected")
	p.keys(t, "xx")
	p.has(t, "5 selected")
	d.run(t, "release", "customer:300882", "--operator", "Tanja.Rossi")
	p.has(t, "4 selected")
	p.keys(t, "r")
	p.has(t, "Release 4 locks of Tanja.Rossi", "customer:300861", "customer:300864")
	p.leaves(t, "history.back()")
	p.has(t, "4 selected")
	p.keys(t, kb.Escape)
	p.awaits(t, bar+` === "none"`)
	p.do(t, chromedp.Click("#page", chromedp.ByQuery))
	p.awaits(t, `document.querySelectorAll("tbody [name=lock]:not(:checked)").length === 0 && /^[1-9][0-9]+ selected$/.test(document.querySelector(".bar output").textContent)`)

	p.do(t, chromedp.Click("[name=all]", chromedp.ByQuery))
	p.keys(t, "e")
	p.has(t, "Extend all locks of the list")
	p.do(t, chromedp.SendKeys("#lasts", "20d", chromedp.ByQuery))
	p.presses(t, theButton)
	p.has(t, "Extend 39 locks of 2 operators?", "New end")
	p.presses(t, theButton)
	p.has(t, "RENEWED Extended. 39 of 39.")
	p.opens(t, d, "locks?type=customer")
	p.keys(t, "j")
	p.awaits(t, bar+` === "none"`)
	p.keys(t, "e") // the row in the focus
	p.has(t, "Extend customer:300860")
	p.opens(t, d, "object?name=customer%3A300861")
	p.keys(t, "e")
	p.has(t, "Extend customer:300861")
}

// Goal: a list without a script has the bar where something is ticked, and all of the list in it. Method: clicks in a browser that runs none.
func TestTicksWithoutScript(t *testing.T) {
	t.Parallel()
	d, p := crowded(t), newPerson(t)
	p.opens(t, d, "")
	p.do(t, emulation.SetScriptExecutionDisabled(true))
	p.opens(t, d, "locks?type=customer")
	p.do(t, chromedp.WaitNotVisible("#s", chromedp.ByQuery), chromedp.Click("[name=lock]", chromedp.ByQuery), chromedp.WaitVisible("#s", chromedp.ByQuery),
		chromedp.Click("[name=all]", chromedp.ByQuery), chromedp.Click("[formaction=release]", chromedp.ByQuery), chromedp.WaitVisible("#reason", chromedp.ByQuery))
	p.has(t, "Release all locks of the list")
}
