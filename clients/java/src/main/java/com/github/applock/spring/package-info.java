/** Locks for Spring Integration. */
package com.github.applock.spring;
