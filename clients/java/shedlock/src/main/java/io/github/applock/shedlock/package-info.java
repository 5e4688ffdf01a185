/** Locks for ShedLock. */
package io.github.applock.shedlock;
