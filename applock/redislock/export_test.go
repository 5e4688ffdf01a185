package redislock

// WholeMilliseconds is what the server is told.
var WholeMilliseconds = wholeMilliseconds
