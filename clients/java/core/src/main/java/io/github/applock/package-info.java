/** Application locks in a database, for programs in Java: who is working on this customer, since when, until when, and may I? */
package io.github.applock;
