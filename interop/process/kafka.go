package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Kafka starts Apache Kafka on the port and gives its address.
func Kafka(tb testing.TB, port string, set ...string) string {
	tb.Helper()
	script := filepath.Join(Root(), "interop", "kafka.sh")
	for _, tool := range []string{"java", "mvn", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			Skip(tb, "%s is missing, run interop/setup.sh", tool)
		}
	}
	state := tb.TempDir()
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command(script, args...)
		cmd.Env = append(os.Environ(), "INTEROP_STATE="+state)
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}
	tb.Cleanup(func() {
		if _, err := run("stop"); err != nil {
			tb.Errorf("stopping Apache Kafka: %v", err)
		}
	})
	out, err := run(append([]string{"start", port}, set...)...)
	if err != nil {
		tb.Fatalf("starting Apache Kafka: %v", err)
	}
	return strings.TrimSpace(string(out))
}
