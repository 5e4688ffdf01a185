//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/term"
)

// forwarded returns the signals that a command gets as well, except those that are switched off.
func forwarded() []os.Signal {
	return append(endings(), syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
}

// separate has the command lead a process group, so that what it starts gets signals, too. At a terminal it stays
// in the group that may read from it, and which gets the terminal's signals.
func (p *process) separate() bool {
	leads := !term.IsTerminal(int(os.Stdin.Fd()))
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: leads}
	dieWithParent(p.command.SysProcAttr)
	return leads
}

// terminate asks the command to end.
func (p *process) terminate() { p.send(syscall.SIGTERM) }

// fromTerminal reports whether a terminal sends the signal to all that read from it.
func fromTerminal(received os.Signal) bool {
	return received == syscall.SIGINT || received == syscall.SIGQUIT || received == syscall.SIGHUP
}

// signalGroup sends a signal to a process group and reports whether it could.
func signalGroup(leader int, signal os.Signal) bool {
	number, ok := signal.(syscall.Signal)
	return ok && syscall.Kill(-leader, number) == nil
}

// killedBy returns the signal that has ended a process, if one has.
func killedBy(state *os.ProcessState) (int, bool) {
	status, ok := state.Sys().(syscall.WaitStatus)
	return int(status.Signal()), ok && status.Signaled()
}
