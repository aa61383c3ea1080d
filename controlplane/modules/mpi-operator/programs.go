//go:build programs

// Package programs names the command to build, so that `go mod tidy` keeps what it needs.
package programs

import _ "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
