package contract

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/db"
)

// hostileSeedVariable repeats the values of a run.
const hostileSeedVariable = "APPLOCK_HOSTILE_SEED"

// Goal: values that no table of tests lists are also accepted or refused as the contract says, alike in the façade and in every dialect.
// Method: random texts and numbers, mostly round the limits, for random parameters of random operations, through each way of calling. The
// log of a failed run has its seed.
func randomArguments(t *testing.T, backend Backend) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(hostileSeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", hostileSeedVariable, err)
		}
	}
	for _, way := range backend.Ways {
		if way == "call" {
			continue // as in hostileArguments
		}
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			t.Logf("%s=%d", hostileSeedVariable, seed)
			place := backend.New(t)
			caller := newHostileCaller(backend, place, way)
			const values = 400
			draw := rand.New(rand.NewPCG(seed, 1))
			for tried := 0; tried < values; {
				operation := db.Contract()[draw.IntN(len(db.Contract()))]
				parameters := operation.InParameters()
				if len(parameters) == 0 {
					continue
				}
				parameter := parameters[draw.IntN(len(parameters))]
				if caller.offers(operation, parameter) {
					caller.tryRandom(t, operation, parameter, draw)
					tried++
				}
			}
		})
	}
}

// tryRandom gives a parameter one random value.
func (c hostileCaller) tryRandom(t *testing.T, operation db.Operation, parameter db.Parameter, draw *rand.Rand) {
	t.Helper()
	allowed, known, err := limitsOf(parameter, 0)
	if err != nil {
		t.Error(err)
		return
	}
	least, most, err := limitsIn(parameter)
	value := known[draw.IntN(len(known))]
	switch {
	case err != nil: // no limits: its value is one of a few words
		value = strings.ToUpper(value)
	case parameter.Type == db.Number:
		value = randomNumber(draw, least, most)
	default:
		value = randomText(draw, int(most))
	}
	switch {
	case c.leavesOut(parameter, value):
	case !allowed(value) && (!c.isFacade || !isNotGiven(parameter, value)):
		c.mustRefuse(t, operation, parameter, value)
	default:
		if got := c.verdict(t.Context(), operation, parameter, value); got != accepted {
			t.Errorf("%s: %s = %.200q: %s, want it %s", operation.Name, parameter.Name, value, got, accepted)
		}
	}
}

// randomNumber is round a limit in most cases.
func randomNumber(draw *rand.Rand, least, most int64) string {
	near := []int64{least, most, 0, math.MaxInt32, math.MinInt32, math.MaxInt64 - 3, math.MinInt64 + 3}
	number := near[draw.IntN(len(near))]
	if number < math.MaxInt64-3 {
		number += draw.Int64N(7) - 3
	}
	if draw.IntN(4) == 0 {
		number = int64(draw.Uint64())
	}
	return strconv.FormatInt(number, 10)
}

// randomText mixes common and unusual characters. In most cases it is about as long as the limit.
func randomText(draw *rand.Rand, most int) string {
	alphabets := [][]string{
		{"x"}, {"x", "é", "日", "😀"}, {"e\u0301", "o\u0308", "\u200d", "\ufe0f"}, {" ", "x"}, {" ", "\t", "\u00a0", "\u3000"}, {"'", `"`, `\`, "%", "_", "`", ";"},
		{"\U0001f468", "\U0001f3fd", "\U0010ffff", "\uffff", "\ufffd", "\ue000"}, {"x", ":"}, {"x", "\x00"}, {"x", "\xff"}, {"\xed\xa0\x80", "x"}, {"\xf0\x9f", "x", "é"},
		{"\u0001", "\x1b", "\x7f", "\u0085", "\u2028"}, {"#", "1", "x"}, {"{", "}", "[", "]", ",", `"`},
	}
	alphabet := alphabets[draw.IntN(len(alphabets))]
	lengths := []int{0, 1, most - 1, most, most + 1, most + 2, 2 * most, draw.IntN(most + 1), draw.IntN(most + 1)}
	var text strings.Builder
	for range lengths[draw.IntN(len(lengths))] {
		text.WriteString(alphabet[draw.IntN(len(alphabet))])
	}
	if draw.IntN(3) == 0 {
		text.WriteString(strings.Repeat(" ", draw.IntN(300)))
	}
	return text.String()
}
