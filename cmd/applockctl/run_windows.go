package main

import (
	"io"
	"os"
)

func forwarded() []os.Signal { return endings() }

func (*process) separate() bool { return false }

// terminate kills the command: Windows has no softer signal.
func (p *process) terminate() { p.kill() }

// fromTerminal is true: a Windows console sends its signals to all its processes.
func fromTerminal(os.Signal) bool { return true }

func signalGroup(int, os.Signal) bool { return false }

func killedBy(*os.ProcessState) (int, bool) { return 0, false }

// readerHasLeft returns false: only the next write can tell.
func readerHasLeft(io.Writer) bool { return false }
