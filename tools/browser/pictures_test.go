//go:build pictures

package browser_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Goal: docs/console has pictures of the pages as they are: make console-pictures. Method: the data of docs/console/demo.sh; people look at them.
func TestPictures(t *testing.T) {
	d := &desk{console: exec.CommandContext(context.WithoutCancel(t.Context()), "docs/console/demo.sh", "bin/applockctl", "--listen", "127.0.0.1:0", "--output", "json")}
	d.console.Dir = "../.."
	d.starts(t)
	t.Cleanup(d.stop)
	p := newPerson(t)
	p.do(t, emulation.SetTimezoneOverride("UTC"))
	for _, of := range []struct{ name, scheme, address, receiver string }{
		{"now", "light", "", ""},
		{"locks", "light", "locks", ""},
		{"locks", "dark", "locks", ""},
		{"object", "light", "object?name=customer%3A42", ""},
		{"desk", "light", "operator?name=bjones", ""},
		{"waiters", "light", "waiters", ""},
		{"plan", "light", "transfer?name=customer%3A42", "asmith"},
		{"desk-plan", "dark", "transfer?desk=bjones", "cwu"},
	} {
		p.sized(t, size{1280, 200, of.scheme})
		if of.receiver == "" {
			p.opens(t, d, of.address)
		} else {
			p.plans(t, d, of.address, of.receiver)
		}
		p.sized(t, size{1280, asks[int64](t, p, "document.scrollingElement.scrollHeight"), of.scheme})
		var picture []byte
		p.do(t, chromedp.ActionFunc(func(ctx context.Context) (err error) {
			picture, err = page.CaptureScreenshot().Do(ctx)
			return err
		}))
		if err := os.WriteFile("../../docs/console/"+of.name+"-"+of.scheme+".png", small(t, picture), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// small reduces a picture to its 256 most frequent colours, which makes a page with text a third of the size with hardly visible loss.
func small(t *testing.T, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.Color]int{}
	for y := full.Bounds().Min.Y; y < full.Bounds().Max.Y; y++ {
		for x := full.Bounds().Min.X; x < full.Bounds().Max.X; x++ {
			count[full.At(x, y)]++
		}
	}
	palette := make(color.Palette, 0, len(count))
	for seen := range count {
		palette = append(palette, seen)
	}
	slices.SortFunc(palette, func(a, b color.Color) int { return count[b] - count[a] })
	reduced := image.NewPaletted(full.Bounds(), palette[:min(256, len(palette))])
	draw.Draw(reduced, full.Bounds(), full, full.Bounds().Min, draw.Src)
	var encoded bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&encoded, reduced); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}
