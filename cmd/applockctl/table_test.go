package main

import (
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: times and what is left are short, in the reader's zone. Method: cells in several styles.
func TestStyle(t *testing.T) {
	t.Parallel()
	kolkata := time.FixedZone("IST", 5*3600+1800)
	at := timestamp(time.Date(2026, 11, 27, 22, 14, 16, 5000, time.UTC))
	for _, test := range []struct {
		style style
		value any
		want  string
	}{
		{style{zone: kolkata}, at, "2026-11-28 03:44"},
		{style{zone: kolkata, wide: true}, at, "2026-11-28 03:44:16 IST"},
		{style{zone: time.UTC}, at, "2026-11-27 22:14 UTC"},
		{style{zone: time.UTC, wide: true}, at, "2026-11-27 22:14:16 UTC"},
		{style{zone: kolkata}, timestamp{}, ""},
		{style{}, lasting(0), ""},
		{style{}, lasting(1), "1s"},
		{style{}, lasting(59), "59s"},
		{style{}, lasting(60), "1m"},
		{style{}, lasting(12*60 + 59), "12m"},
		{style{}, lasting(3 * 3600), "3h"},
		{style{}, lasting(3*3600 + 25*60 + 59), "3h25m"},
		{style{}, lasting(24*3600 - 1), "23h59m"},
		{style{}, lasting(3*86400 + 4*3600 + 3599), "3d4h"},
		{style{}, lasting(7 * 86400), "7d"},
		{style{}, applock.Fence(0), ""},
		{style{}, applock.Fence(7), "7"},
		{style{}, applock.OutcomeHeld, "HELD"},
		{style{}, int64(0), "0"},
		{style{}, "jdoe", "jdoe"},
	} {
		if got := test.style.cell(test.value); got != test.want {
			t.Errorf("%v is shown as %q, want %q", test.value, got, test.want)
		}
	}
}

// Goal: a table fits where it is shown, and shortens the longest names first; neither other cells nor titles, and no
// name beyond recognition. Method: one table at several widths.
func TestTableFits(t *testing.T) {
	t.Parallel()
	lines := [][]field{
		{{title: "OUTCOME", value: word("TRANSFERRED")}, {title: "OBJECT", value: "customer:1234567890123456789"},
			{title: "OPERATOR", value: "jürgen.müller@example.com"}, {title: "LOCKED", value: "", wide: true}, {title: "LEFT", value: lasting(90)}},
		{{title: "OUTCOME", value: word("HELD")}, {title: "OBJECT", value: "order:7"},
			{title: "OPERATOR", value: ""}, {title: "LOCKED", value: "x", wide: true}, {title: "LEFT", value: lasting(0)}},
	}
	for _, test := range []struct {
		style style
		want  string
	}{
		{style{}, "" +
			"OUTCOME      OBJECT                        OPERATOR                   LEFT\n" +
			"TRANSFERRED  customer:1234567890123456789  jürgen.müller@example.com  1m\n" +
			"HELD         order:7                       -                          -\n"},
		{style{width: 74}, "" +
			"OUTCOME      OBJECT                        OPERATOR                   LEFT\n" +
			"TRANSFERRED  customer:1234567890123456789  jürgen.müller@example.com  1m\n" +
			"HELD         order:7                       -                          -\n"},
		{style{width: 70}, "" +
			"OUTCOME      OBJECT                     OPERATOR                  LEFT\n" +
			"TRANSFERRED  customer:123456789012345…  jürgen.müller@example.c…  1m\n" +
			"HELD         order:7                    -                         -\n"},
		{style{width: 50}, "" +
			"OUTCOME      OBJECT                OPERATOR   LEFT\n" +
			"TRANSFERRED  customer:1234567890…  jürgen.m…  1m\n" +
			"HELD         order:7               -          -\n"},
		{style{width: 5}, "" +
			"OUTCOME      OBJECT                OPERATOR  LEFT\n" +
			"TRANSFERRED  customer:1234567890…  jürgen.…  1m\n" +
			"HELD         order:7               -         -\n"},
		{style{wide: true}, "" +
			"OUTCOME      OBJECT                        OPERATOR                   LOCKED  LEFT\n" +
			"TRANSFERRED  customer:1234567890123456789  jürgen.müller@example.com  -       1m\n" +
			"HELD         order:7                       -                          x       -\n"},
	} {
		table := newTable(test.style, lines[0])
		for _, line := range lines {
			table.add(line)
		}
		if got := table.align(); got != test.want {
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
		lines := [][]field{
			{{title: "OBJECT", value: "顧客:顧客番号の例"}, {title: "OPERATOR", value: "山田太郎です"}, {title: "LEFT", value: lasting(90)}},
			{{title: "OBJECT", value: "e\u0301te\u0301:1"}, {title: "OPERATOR", value: "👧-jdoe"}, {title: "LEFT", value: lasting(90)}},
		}
		table := newTable(style{width: test.width}, lines[0])
		for _, line := range lines {
			table.add(line)
		}
		if got := table.align(); got != test.want {
			t.Errorf("at %d cells:\n%s\nwant\n%s", test.width, got, test.want)
		}
	}
}

// Goal: a long table is printed bit by bit, and what follows stands below what is there. Method: two parts.
func TestTableGoesOn(t *testing.T) {
	t.Parallel()
	line := func(name string) []field {
		return []field{{title: "OPERATOR", value: name}, {title: "LEFT", value: lasting(1)}}
	}
	table := newTable(style{}, line(""))
	table.add(line("a-long-name"))
	if got, want := table.align(), "OPERATOR     LEFT\na-long-name  1s\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	table.add(line("b"))
	if got, want := table.align(), "b            1s\n"; got != want {
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
		if got := printable(cell); got != want {
			t.Errorf("%q is shown as %s, want %s", cell, got, want)
		}
	}
}
