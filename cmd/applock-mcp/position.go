package main

import (
	"strconv"
	"strings"

	"github.com/applock/applock/applock"
)

// positionOf parses the text of textOfPosition: numbers separated by commas.
func positionOf(text string) (applock.InboxPosition, error) {
	var position applock.InboxPosition
	if text == "" {
		return position, nil
	}
	for i, word := range strings.Split(text, ",") {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil || number < 0 {
			return applock.InboxPosition{}, &applock.InvalidError{Argument: "Position.After", Reason: "is not one that lock_inbox has answered"}
		}
		if i == 0 {
			position.After = number
			continue
		}
		position.Told = append(position.Told, number)
	}
	return position, nil
}

func textOfPosition(position applock.InboxPosition) string {
	words := []string{strconv.FormatInt(position.After, 10)}
	for _, event := range position.Told {
		words = append(words, strconv.FormatInt(event, 10))
	}
	return strings.Join(words, ",")
}
