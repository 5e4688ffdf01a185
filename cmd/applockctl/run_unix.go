//go:build unix

package main

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// forwarded returns the signals that are passed on to the command. It leaves out ignored ones.
func forwarded() []os.Signal {
	return append(endings(), syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
}

// separate makes the command the leader of a process group, so that its children get signals, too. At a terminal the command stays in the
// foreground group, which may read from the terminal and gets its signals.
func (p *process) separate() bool {
	leads := !term.IsTerminal(int(os.Stdin.Fd()))
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: leads}
	dieWithParent(p.command.SysProcAttr)
	return leads
}

func (p *process) terminate() { p.send(syscall.SIGTERM) }

// fromTerminal reports whether a terminal sends this signal to its whole foreground group.
func fromTerminal(received os.Signal) bool {
	return received == syscall.SIGINT || received == syscall.SIGQUIT || received == syscall.SIGHUP
}

// signalGroup sends a signal to a process group and reports whether it could.
func signalGroup(leader int, signal os.Signal) bool {
	number, ok := signal.(syscall.Signal)
	return ok && syscall.Kill(-leader, number) == nil
}

// killedBy returns the signal that ended the process, if one did.
func killedBy(state *os.ProcessState) (int, bool) {
	status, ok := state.Sys().(syscall.WaitStatus)
	return int(status.Signal()), ok && status.Signaled()
}

// readerHasLeft reports whether the reader of w has closed it, without writing to it.
func readerHasLeft(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(file.Fd())}} //nolint:gosec // descriptors are small numbers
	ready, err := unix.Poll(poll, 0)
	return err == nil && ready > 0 && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
