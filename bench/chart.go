//go:build unix

package main

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
)

// bar is one bar of a chart: the median, with a line from the 5th to the 95th percentile.
type bar struct {
	product, name string
	ours          bool
	values        []float64
}

// The sizes of a chart, in pixels. It is narrow, so that its texts stay readable on a telephone.
const (
	chartWidth    = 480
	chartMargin   = 8
	titleHeight   = 50
	productHeight = 30
	barHeight     = 32
	// beyond is how far the longest whisker may exceed the longest bar before it is cut off.
	beyond = 1.5
)

// chartStyle has the colours for light and dark pages.
const chartStyle = `<style>
text { fill: #1f2328; font: 14px Helvetica, Arial, sans-serif; }
.title, .product { font-weight: bold; }
.page { fill: #ffffff; }
.ours { fill: #3b6ea5; }
.theirs { fill: #b9c0c8; }
line { stroke: #1f2328; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.page { fill: #0d1117; }
.ours { fill: #5b9bd5; }
.theirs { fill: #59626d; }
line { stroke: #e6edf3; }
}
</style>
`

// chart draws figures and their baselines, each once, grouped by product, as SVG.
func (r *report) chart(title string, wanted func(*figure) bool) string {
	bars := r.bars(wanted)
	top := 1e-9
	for _, each := range bars {
		top = max(top, min(percentile(each.values, 95), beyond*median(each.values)))
	}
	var body strings.Builder
	y, product := titleHeight, ""
	for _, each := range bars {
		if each.product != product {
			product = each.product
			fmt.Fprintf(&body, `<text class="product" x="%d" y="%d">%s</text>`+"\n", chartMargin, y+20, html.EscapeString(product))
			y += productHeight
		}
		each.draw(&body, y, top)
		y += barHeight
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d">`+"\n"+
		"%[3]s"+`<rect class="page" width="%[1]d" height="%[2]d"/>`+"\n"+`<text class="title" x="%[4]d" y="22">%[5]s</text>`+
		`<text x="%[4]d" y="42">Blue is applock. A line spans the 5th to the 95th percentile.</text>`+"\n%[6]s</svg>\n",
		chartWidth, y+chartMargin, chartStyle, chartMargin, html.EscapeString(title), body.String())
}

// draw writes a bar below its name and median. Top is the value at the right edge.
func (b bar) draw(svg *strings.Builder, y int, top float64) {
	x := func(value float64) float64 { return chartMargin + (chartWidth-2*chartMargin)*min(value, top)/top }
	class := "theirs"
	if b.ours {
		class = "ours"
	}
	middle := median(b.values)
	fmt.Fprintf(svg, `<text x="%d" y="%d">%s</text>`, chartMargin, y+12, html.EscapeString(b.name))
	fmt.Fprintf(svg, `<text x="%d" y="%d" text-anchor="end">%s</text>`, chartWidth-chartMargin, y+12, round(middle))
	fmt.Fprintf(svg, `<rect class="%s" x="%d" y="%d" width="%.1f" height="9"/>`, class, chartMargin, y+17, x(middle)-chartMargin)
	fmt.Fprintf(svg, `<line x1="%.1f" x2="%.1f" y1="%[3]g" y2="%[3]g"/>`+"\n",
		x(percentile(b.values, 5)), x(percentile(b.values, 95)), float64(y)+21.5)
}

// bars returns the bars in the order of the products, which groups them.
func (r *report) bars(wanted func(*figure) bool) []bar {
	var bars []bar
	add := func(b bar) {
		known := slices.ContainsFunc(bars, func(other bar) bool { return other.product == b.product && other.name == b.name })
		if !known && len(b.values) > 0 {
			bars = append(bars, b)
		}
	}
	for _, f := range r.Figures {
		if wanted(f) {
			prefix, name, _ := strings.Cut(f.Name, ": ")
			where := ""
			if strings.Contains(prefix, "Java") {
				where = " (Java)"
			}
			add(bar{f.Product, cmp.Or(name, strings.TrimPrefix(prefix, "hand-off, ")) + where, true, f.Values})
			add(bar{f.Product, f.Baseline + where, false, f.BaselineValues})
		}
	}
	slices.SortStableFunc(bars, func(a, b bar) int { return strings.Compare(a.product, b.product) })
	return bars
}
