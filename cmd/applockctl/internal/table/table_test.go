package table

import (
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: times and what is left are short, in the reader's zone. Method: cells in several styles.
func TestStyle(t *testing.T) {
	t.Parallel()
	kolkata := time.FixedZone("IST", 5*3600+1800)
	at := Timestamp(time.Date(2026, 11, 27, 22, 14, 16, 5000, time.UTC))
	for _, test := range []struct {
		style Style
		value any
		want  string
	}{
		{Style{Zone: kolkata}, at, "2026-11-28 03:44"},
		{Style{Zone: kolkata, Wide: true}, at, "2026-11-28 03:44:16 IST"},
		{Style{Zone: time.UTC}, at, "2026-11-27 22:14 UTC"},
		{Style{Zone: time.UTC, Wide: true}, at, "2026-11-27 22:14:16 UTC"},
		{Style{Zone: kolkata}, Timestamp{}, ""},
		{Style{}, Lasting(0), ""},
		{Style{}, Lasting(1), "1s"},
		{Style{}, Lasting(59), "59s"},
		{Style{}, Lasting(60), "1m"},
		{Style{}, Lasting(12*60 + 59), "12m"},
		{Style{}, Lasting(3 * 3600), "3h"},
		{Style{}, Lasting(3*3600 + 25*60 + 59), "3h25m"},
		{Style{}, Lasting(24*3600 - 1), "23h59m"},
		{Style{}, Lasting(3*86400 + 4*3600 + 3599), "3d4h"},
		{Style{}, Lasting(7 * 86400), "7d"},
		{Style{}, applock.Fence(0), ""},
		{Style{}, applock.Fence(7), "7"},
		{Style{}, applock.OutcomeHeld, "HELD"},
		{Style{}, int64(0), "0"},
		{Style{}, "jdoe", "jdoe"},
	} {
		if got := test.style.Cell(test.value); got != test.want {
			t.Errorf("%v is shown as %q, want %q", test.value, got, test.want)
		}
	}
}

// Goal: a table fits where it is shown, and shortens the longest names first; neither other cells nor titles, and no
// name beyond recognition. Method: one table at several widths.
func TestTableFits(t *testing.T) {
	t.Parallel()
	lines := [][]Field{
		{{Title: "OUTCOME", Value: Word("TRANSFERRED")}, {Title: "OBJECT", Value: "customer:1234567890123456789"},
			{Title: "OPERATOR", Value: "jürgen.müller@example.com"}, {Title: "LOCKED", Value: "", Wide: true}, {Title: "LEFT", Value: Lasting(90)}},
		{{Title: "OUTCOME", Value: Word("HELD")}, {Title: "OBJECT", Value: "order:7"},
			{Title: "OPERATOR", Value: ""}, {Title: "LOCKED", Value: "x", Wide: true}, {Title: "LEFT", Value: Lasting(0)}},
	}
	for _, test := range []struct {
		style Style
		want  string
	}{
		{Style{}, "" +
			"OUTCOME      OBJECT                        OPERATOR                   LEFT\n" +
			"TRANSFERRED  customer:1234567890123456789  jürgen.müller@example.com  1m\n" +
			"HELD         order:7                       -                          -\n"},
		{Style{Width: 74}, "" +
			"OUTCOME      OBJECT                        OPERATOR                   LEFT\n" +
			"TRANSFERRED  customer:1234567890123456789  jürgen.müller@example.com  1m\n" +
			"HELD         order:7                       -                          -\n"},
		{Style{Width: 70}, "" +
			"OUTCOME      OBJECT                     OPERATOR                  LEFT\n" +
			"TRANSFERRED  customer:123…890123456789  jürgen.müller@example.c…  1m\n" +
			"HELD         order:7                    -                         -\n"},
		{Style{Width: 50}, "" +
			"OUTCOME      OBJECT                OPERATOR   LEFT\n" +
			"TRANSFERRED  customer:…0123456789  jürgen.m…  1m\n" +
			"HELD         order:7               -          -\n"},
		{Style{Width: 5}, "" +
			"OUTCOME      OBJECT                OPERATOR  LEFT\n" +
			"TRANSFERRED  customer:…0123456789  jürgen.…  1m\n" +
			"HELD         order:7               -         -\n"},
		{Style{Wide: true}, "" +
			"OUTCOME      OBJECT                        OPERATOR                   LOCKED  LEFT\n" +
			"TRANSFERRED  customer:1234567890123456789  jürgen.müller@example.com  -       1m\n" +
			"HELD         order:7                       -                          x       -\n"},
	} {
		table := New(test.style, lines[0])
		for _, line := range lines {
			table.Add(line)
		}
		if got := table.Align(); got != test.want {
			t.Errorf("%+v:\n%s\nwant\n%s", test.style, got, test.want)
		}
	}
}

// Goal: columns stand below each other, and fit, also where characters take two cells or none. Method: names in Japanese, with
// combining marks and as emoji, at two widths.
func TestTableCountsCells(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		width int
		want  string
	}{
		{0, "" +
			"OBJECT             OPERATOR      LEFT\n" +
			"顧客:顧客番号の例  山田太郎です  1m\n" +
			"e\u0301te\u0301:1              👧-jdoe       1m\n"},
		{33, "" +
			"OBJECT             OPERATOR  LEFT\n" +
			"顧客:顧客番号の例  山田太…   1m\n" +
			"e\u0301te\u0301:1              👧-jdoe   1m\n"},
	} {
		lines := [][]Field{
			{{Title: "OBJECT", Value: "顧客:顧客番号の例"}, {Title: "OPERATOR", Value: "山田太郎です"}, {Title: "LEFT", Value: Lasting(90)}},
			{{Title: "OBJECT", Value: "e\u0301te\u0301:1"}, {Title: "OPERATOR", Value: "👧-jdoe"}, {Title: "LEFT", Value: Lasting(90)}},
		}
		table := New(Style{Width: test.width}, lines[0])
		for _, line := range lines {
			table.Add(line)
		}
		if got := table.Align(); got != test.want {
			t.Errorf("at %d cells:\n%s\nwant\n%s", test.width, got, test.want)
		}
	}
}

// Goal: a long table is printed bit by bit, and what follows stands below what is there. Method: two parts.
func TestTableGoesOn(t *testing.T) {
	t.Parallel()
	line := func(name string) []Field {
		return []Field{{Title: "OPERATOR", Value: name}, {Title: "LEFT", Value: Lasting(1)}}
	}
	table := New(Style{}, line(""))
	table.Add(line("a-long-name"))
	if got, want := table.Align(), "OPERATOR     LEFT\na-long-name  1s\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	table.Add(line("b"))
	if got, want := table.Align(), "b            1s\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":               "-",
		"jdoe":           "jdoe",
		"J Döe 東京":       "J Döe 東京",
		"a\tb":           `"a\tb"`,
		"a\n\x1b[2J":     `"a\n\x1b[2J"`,
		"a\u202eb":       `"a\u202eb"`,
		"nothing else\"": "nothing else\"",
	} {
		if got := Printable(cell); got != want {
			t.Errorf("%q is shown as %s, want %s", cell, got, want)
		}
	}
}
