package env

// Draw is a pseudo-random number that depends on nothing but what is asked: a
// seed, a purpose, and the n-th draw for it. So removing one decision leaves all
// others unchanged. (FNV-1a over the purpose, finished by SplitMix64's mixer.)
func Draw(seed uint64, purpose string, n uint64) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(purpose) {
		h = (h ^ uint64(purpose[i])) * 1099511628211
	}
	return mix(mix(seed^h) + n*0x9e3779b97f4a7c15)
}

func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
