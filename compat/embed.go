// Package compat is the knowledge that is shipped inside the binary.
package compat

import "embed"

// FS holds every file that --compat and data update may put another layer on.
//
//go:embed *.yaml codes matrix
var FS embed.FS
