// Package scale measures what one server does, simulates what many clients ask of it, and compares both with docs/scale.md.
package scale
