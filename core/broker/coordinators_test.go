package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

func TestEachCoordinatorKeyIsToldThatNoneIsThere(t *testing.T) {
	for version := int16(0); version <= 6; version++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKey, req.CoordinatorKeys = version, "g", []string{"g", "h", "g"}
		res := findCoordinator(req)
		require.Equal(t, version, res.Version)
		if version < 4 {
			require.Equal(t, env.CoordinatorNotAvailable, res.ErrorCode)
			continue
		}
		require.Len(t, res.Coordinators, 2)
		for i, key := range []string{"g", "h"} {
			require.Equal(t, key, res.Coordinators[i].Key)
			require.Equal(t, env.CoordinatorNotAvailable, res.Coordinators[i].ErrorCode)
			require.EqualValues(t, -1, res.Coordinators[i].NodeID)
		}
	}
}

func TestAnUnknownKindOfCoordinatorIsTheClientsMistake(t *testing.T) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKeys = 6, 9, []string{"x"}
	require.Equal(t, env.InvalidRequest, findCoordinator(req).Coordinators[0].ErrorCode)
}
