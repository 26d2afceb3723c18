package controller

import (
	"fmt"

	"github.com/orrery-log/orrery/core/config"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// Context is what a decision rests on.
type Context struct {
	Image  *metadata.Image
	Layers config.Layers
	Seed   uint64 // this life's
	// At is where the metadata log ends. Two decisions that both became records
	// never have the same one, so what is drawn by it is drawn once.
	At int64
}

// Problem refuses one part of a request. The zero Problem is none.
type Problem struct {
	Code    int16
	Message string
}

// None tells that there is no problem.
func (p Problem) None() bool { return p.Code == env.NoError }

func problem(code int16, format string, args ...any) Problem {
	return Problem{code, fmt.Sprintf(format, args...)}
}

// partitionsMax is how many partitions one request may create, as in Kafka.
const partitionsMax = 10_000
