/** Locks for ShedLock. */
package com.github.applock.shedlock;
