// Package recipes is the deployments that are shipped inside the binary.
package recipes

import "embed"

// FS holds every recipe, one file each.
//
//go:embed *.yaml
var FS embed.FS
