// Package scale asks a real `orrery serve` what many partitions cost it.
//
// What goes in? How many partitions. What comes out? Memory, journal, files, the
// time to start again after SIGKILL, what it does when nothing happens; and a
// failure where one of them has no bound. What is it not? A benchmark: it runs on
// a busy machine too, so its limits are far from the figures of a quiet one.
package scale
