package controller

import (
	"fmt"
	"testing"
)

// The largest requests that fit a frame of a megabyte: each must cost milliseconds,
// for the broker does nothing else meanwhile.
func BenchmarkLargestRequests(b *testing.B) {
	w := newWorld(1)
	var some []NewTopic
	for i := range 5000 {
		some = append(some, topic(fmt.Sprintf("there.%d", i)))
	}
	w.create(some...)
	var illegal, unknown, colliding []NewTopic
	for i := range 60_000 {
		illegal = append(illegal, topic(fmt.Sprintf("a/%d", i), counts(-2, 1)))
	}
	for i := range 9_000 {
		unknown = append(unknown, topic(fmt.Sprint("u", i), with(fmt.Sprintf("leader.replication.throttled.replics.%d", i), "1")))
		colliding = append(colliding, topic(fmt.Sprintf("there_%d", i)))
	}
	for name, topics := range map[string][]NewTopic{"illegal": illegal, "unknown settings": unknown, "colliding": colliding} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				CreateTopics(w.Context, topics, false)
			}
		})
	}
}
