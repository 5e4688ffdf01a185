package main

import "os"

func forwarded() []os.Signal { return endings() }

func (*process) separate() bool { return false }

// terminate ends the command: there is nothing softer.
func (p *process) terminate() { p.kill() }

// fromTerminal is true of all that there is: a console tells all its processes.
func fromTerminal(os.Signal) bool { return true }

func signalGroup(int, os.Signal) bool { return false }

func killedBy(*os.ProcessState) (int, bool) { return 0, false }
