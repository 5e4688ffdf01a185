/** Locks for Spring Integration. */
package io.github.applock.spring;
