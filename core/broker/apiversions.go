package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

// ApiVersions (KIP-35): v3 brought the client's name and is flexible (KIP-511),
// v4 shows features whose minimum is 0, v5 asks for one node of one cluster
// (KIP-1242).

func apiVersions(r env.Request, req *kmsg.ApiVersionsRequest) *kmsg.ApiVersionsResponse {
	res := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if r.Unsupported {
		// KIP-511: version 0, and just the range of ApiVersions itself.
		res.SetVersion(0)
		res.ErrorCode = env.UnsupportedVersion
		res.ApiKeys = append(res.ApiKeys, apiKey(int16(kmsg.ApiVersions)))
		return res
	}
	if req.Version >= 3 && (!softwareName(req.ClientSoftwareName) || !softwareName(req.ClientSoftwareVersion)) {
		res.ErrorCode = env.InvalidRequest
		return res
	}
	for _, key := range door.Keys() {
		res.ApiKeys = append(res.ApiKeys, apiKey(key))
	}
	return res
}

func apiKey(key int16) kmsg.ApiVersionsResponseApiKey {
	a := kmsg.NewApiVersionsResponseApiKey()
	_, top, advertised, ok := door.Range(key)
	if !ok {
		panic("broker: an API that the door does not know")
	}
	a.ApiKey, a.MinVersion, a.MaxVersion = key, advertised, top
	return a
}

// softwareName: letters, digits, dots and hyphens, the last two not at an end (KIP-511).
func softwareName(s string) bool {
	for i := range len(s) {
		c := s[i]
		inner := (c == '.' || c == '-') && i > 0 && i < len(s)-1
		if !inner && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}
