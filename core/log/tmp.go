package log

import "github.com/orrery-log/orrery/core/env"

type checkpointing struct{}

func (c *checkpointing) journaled(l *Log, synced env.Seq) {}

type damage struct{}
type position struct{}

// IndexCache keeps indexes of sealed segments.
type IndexCache struct{}

func (l *Log) RefusesAppends() int16 { return 0 }

func (l *Log) readSegment(cache *IndexCache, w wish) Plan { panic("log: no segments yet") }
