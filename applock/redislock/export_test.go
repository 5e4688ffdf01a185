package redislock

// WholeMilliseconds is what the server is told.
var WholeMilliseconds = wholeMilliseconds

// NewChecking is New, with leases that are checked as often.
var NewChecking = newLeases
