// Command pictures makes the pictures of the console in docs/console from the data of docs/console/demo.sh. It needs chromium, and is run at the
// top of the repository: make console-pictures.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	folder = "docs/console"
	width  = 1280
	// limit bounds all pictures together.
	limit = 3 * time.Minute
)

// shot is one picture.
type shot struct {
	name, scheme, address string
	// receiver and reason fill in the form of a plan; empty for a page without a form.
	receiver, reason string
}

func shots() []shot {
	return []shot{
		{name: "now", scheme: "light"},
		{name: "locks", scheme: "light", address: "locks"},
		{name: "locks", scheme: "dark", address: "locks"},
		{name: "object", scheme: "light", address: "object?name=customer%3A42"},
		{name: "desk", scheme: "light", address: "operator?name=bjones"},
		{name: "waiters", scheme: "light", address: "waiters"},
		{name: "plan", scheme: "light", address: "transfer?name=customer%3A42", receiver: "asmith", reason: "jdoe is ill"},
		{name: "desk-plan", scheme: "dark", address: "transfer?desk=bjones", receiver: "cwu", reason: "bjones is on holiday"},
	}
}

func main() {
	if err := takeAll(); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func takeAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	address, stop, err := serveDemo(ctx)
	if err != nil {
		return err
	}
	defer stop()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox, chromedp.Flag("lang", "en-GB"))
	allocator, cancel := chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	browser, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Run(browser, emulation.SetTimezoneOverride("UTC"), chromedp.Navigate(address.signIn)); err != nil {
		return err
	}
	for _, shot := range shots() {
		if err := shot.take(browser, address.base); err != nil {
			return fmt.Errorf("%s-%s: %w", shot.name, shot.scheme, err)
		}
	}
	return nil
}

type addresses struct{ base, signIn string }

// serveDemo starts the demo. stop ends it.
func serveDemo(ctx context.Context) (address addresses, stop func(), err error) {
	demo := exec.CommandContext(ctx, folder+"/demo.sh", "bin/applockctl", "--listen", "127.0.0.1:0", "--output", "json")
	demo.Cancel = func() error { return demo.Process.Signal(syscall.SIGTERM) } // so that the demo ends its own processes
	output, err := demo.StdoutPipe()
	if err != nil {
		return addresses{}, nil, err
	}
	if err := demo.Start(); err != nil {
		return addresses{}, nil, err
	}
	stop = func() {
		_ = demo.Process.Signal(syscall.SIGTERM)
		_ = demo.Wait()
	}
	var answer struct{ Address string }
	lines := bufio.NewScanner(output)
	for answer.Address == "" && lines.Scan() {
		_ = json.Unmarshal(lines.Bytes(), &answer) // the demo prints other lines first
	}
	base, _, found := bytes.Cut([]byte(answer.Address), []byte("?"))
	if !found {
		stop()
		return addresses{}, nil, errors.Join(errors.New("the demo has printed no address"), lines.Err())
	}
	return addresses{base: string(base), signIn: answer.Address}, stop, nil
}

// take takes one picture, as high as the page's content.
func (s shot) take(browser context.Context, base string) error {
	actions := []chromedp.Action{
		emulation.SetDeviceMetricsOverride(width, 200, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}),
		chromedp.Navigate(base + s.address),
	}
	if s.receiver != "" {
		actions = append(actions, chromedp.SendKeys("#to", s.receiver, chromedp.ByQuery), chromedp.SendKeys("#reason", s.reason, chromedp.ByQuery))
	}
	if err := chromedp.Run(browser, actions...); err != nil {
		return err
	}
	if s.receiver != "" {
		if _, err := chromedp.RunResponse(browser, chromedp.Submit("form.change", chromedp.ByQuery)); err != nil {
			return err
		}
	}
	var height int64
	var shown []byte
	err := chromedp.Run(browser, chromedp.Evaluate("document.scrollingElement.scrollHeight", &height), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		if err := emulation.SetDeviceMetricsOverride(width, height, 1, false).Do(ctx); err != nil {
			return err
		}
		shown, err = page.CaptureScreenshot().Do(ctx)
		return err
	}))
	if err != nil {
		return err
	}
	picture, err := small(shown)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, s.name+"-"+s.scheme+".png"), picture, 0o644) //nolint:gosec // it is published
}

// small reduces a picture to its 256 most frequent colours, which makes a page with text a third of the size with hardly visible loss.
func small(picture []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
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
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&encoded, reduced)
	return encoded.Bytes(), err
}
