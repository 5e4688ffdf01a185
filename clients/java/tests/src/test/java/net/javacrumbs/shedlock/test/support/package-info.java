/**
 * The tests of ShedLock 7.9.0 for lock providers, unchanged: its project does not publish the module shedlock-test-support. They are
 * under the licence that each file names, which is ours as well.
 */
package net.javacrumbs.shedlock.test.support;
