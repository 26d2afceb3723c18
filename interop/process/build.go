package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Root is the folder of the repository.
func Root() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		panic("process: the caller is not known")
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

var builds struct {
	sync.Mutex
	binary map[string]string // by overlay file
	dir    string
}

// Binary builds cmd/orrery once and gives its path; INTEROP_BINARY names one that is there.
func Binary(tb testing.TB) string {
	tb.Helper()
	if b := os.Getenv("INTEROP_BINARY"); b != "" {
		return b
	}
	return build(tb, "")
}

// Broken builds cmd/orrery with an overlay file as `go build -overlay` takes it.
func Broken(tb testing.TB, overlay string) string {
	tb.Helper()
	return build(tb, overlay)
}

func build(tb testing.TB, overlay string) string {
	tb.Helper()
	builds.Lock()
	defer builds.Unlock()
	if b := builds.binary[overlay]; b != "" {
		return b
	}
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "orrery-interop-")
		if err != nil {
			tb.Fatal(err)
		}
		builds.dir, builds.binary = dir, map[string]string{}
	}
	out, err := os.CreateTemp(builds.dir, "orrery-*")
	if err != nil {
		tb.Fatal(err)
	}
	out.Close()
	args := []string{"build", "-o", out.Name()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, "./cmd/orrery")...)
	cmd.Dir = Root()
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("go build ./cmd/orrery: %v\n%s", err, text)
	}
	builds.binary[overlay] = out.Name()
	return out.Name()
}

// Clean removes what Binary and Broken built; for TestMain.
func Clean() {
	builds.Lock()
	defer builds.Unlock()
	if builds.dir != "" {
		os.RemoveAll(builds.dir)
	}
	builds.dir, builds.binary = "", nil
}

// Skip skips loudly; with CI=true it fails instead.
func Skip(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("in CI nothing may be skipped: "+format, args...)
	}
	tb.Skipf("SKIPPED: "+format, args...)
}
