//go:build unix

package main

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
)

// bar is one of a chart: the median, and a line from the 5th to the 95th percentile, which are the ends of a few values.
type bar struct {
	product, name string
	ours          bool
	values        []float64
}

const (
	chartWidth = 900
	labelWidth = 330
	barHeight  = 18
	// beyond is how far the greatest whisker may reach over the greatest bar before it is cut off.
	beyond = 1.5
)

// chart draws some figures and what they are compared with, each once, by products, as SVG.
func (r *report) chart(title string, wanted func(*figure) bool) string {
	bars := r.bars(wanted)
	top := 1e-9
	for _, each := range bars {
		top = max(top, min(percentile(each.values, 95), beyond*median(each.values)))
	}
	x := func(value float64) float64 { return labelWidth + (chartWidth-labelWidth-70)*min(value, top)/top }
	var svg strings.Builder
	height := 40 + len(bars)*barHeight
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		chartWidth, height)
	fmt.Fprintf(&svg, `<rect width="%d" height="%d" fill="white"/>`+"\n", chartWidth, height)
	fmt.Fprintf(&svg, `<text x="8" y="20" font-size="14">%s</text>`+"\n", html.EscapeString(title))
	for i, each := range bars {
		y := 32 + i*barHeight
		colour := "#b9c0c8"
		if each.ours {
			colour = "#3b6ea5"
		}
		middle := median(each.values)
		fmt.Fprintf(&svg, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-6, y+12,
			html.EscapeString(each.product+": "+each.name))
		fmt.Fprintf(&svg, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`,
			labelWidth, y, x(middle)-labelWidth, barHeight-4, colour)
		fmt.Fprintf(&svg, `<line x1="%.1f" x2="%.1f" y1="%[3]d" y2="%[3]d" stroke="black"/>`,
			x(percentile(each.values, 5)), x(percentile(each.values, 95)), y+barHeight/2-2)
		fmt.Fprintf(&svg, `<text x="%.1f" y="%d">%s</text>`+"\n", x(max(middle, percentile(each.values, 95)))+4, y+12, round(middle))
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

// bars are in the order of the products, which groups them.
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
