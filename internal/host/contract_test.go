package host_test

import (
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

func TestContractLocal(t *testing.T) {
	hosttest.Contract(t, "local", func(*testing.T) host.Host { return host.NewLocal() })
}
