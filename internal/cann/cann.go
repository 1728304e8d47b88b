// Package cann knows how an installed CANN looks on disk: the trees of up to
// 8.3, of 8.5 and of 9.x, their links, kernels and nnal. It is pure: it says
// which paths matter and reads listings and texts that were fetched by others.
package cann

import "strings"

// Tree is one CANN on disk.
type Tree struct {
	Path    string `json:"path"`              // the real folder: /usr/local/Ascend/cann-8.5.0
	Kind    string `json:"kind"`              // toolkit, nnrt, nnae
	Layout  string `json:"layout"`            // "8.3" (ascend-toolkit/VER) or "8.5" (cann-VER)
	Active  string `json:"active,omitempty"`  // the path by which it is the default: .../ascend-toolkit/latest, .../cann
	Version string `json:"version,omitempty"` // version= of its install.info; "" = none found
	Inner   string `json:"inner,omitempty"`   // innerversion=, V100R001C21SPC001B238
	Arch    string `json:"arch,omitempty"`
	Info    string `json:"info,omitempty"` // the install.info it was read from
	// Compatible are the branches of compatible_version=: V100R001C15, ...
	Compatible []string `json:"compatible,omitempty"`
	// Components maps a component (runtime, compiler, opp, opp_kernel, ...) to
	// what its version.info says.
	Components map[string]Component `json:"components,omitempty"`
	// Running are the *_running_version entries of version.cfg: component to "7.7.0.1.238:8.1.RC1".
	Running map[string]string `json:"running,omitempty"`
	// OpsVersion is the version of ascend_ops_install.info (8.5 and later).
	OpsVersion string   `json:"ops_version,omitempty"`
	OpsInfo    string   `json:"ops_info,omitempty"`
	Kernels    []string `json:"kernels,omitempty"` // folders of opp/.../tbe/kernel[/config]: ascend910b
	// Files are those that others need, as far as they are there: set_env.sh, bin/atc.
	Files []File `json:"files,omitempty"`
	// Dangling are links of the tree, or of the folder of links that makes it
	// active, that lead nowhere.
	Dangling []string `json:"dangling,omitempty"`
	// User is true below a home folder: an install of one person.
	User bool `json:"user,omitempty"`
}

// Component is what one version.info says.
type Component struct {
	Version    string            `json:"version"`               // 7.7.0.1.238
	VersionDir string            `json:"version_dir,omitempty"` // 8.1.RC1
	Requires   map[string]string `json:"requires,omitempty"`    // required_* keys, prefix stripped
}

// File is a file of a tree that others need.
type File struct {
	Path string `json:"path"`
	Mode string `json:"mode,omitempty"` // octal; "" = could not be asked
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// Link is an active link: the path and where it leads.
type Link struct {
	Path    string `json:"path"`
	Target  string `json:"target"`         // as written in the link; "" for a folder of links
	Real    string `json:"real,omitempty"` // resolved; "" when it leads nowhere
	Folder  bool   `json:"folder,omitempty"`
	Version string `json:"version,omitempty"` // of the tree it leads to
}

// NNAL is one installed nnal (atb).
type NNAL struct {
	Path    string `json:"path"` // .../nnal/atb/8.1.RC1
	Version string `json:"version,omitempty"`
	Active  bool   `json:"active,omitempty"`   // nnal/atb/latest leads to it
	ABIs    []int  `json:"abis,omitempty"`     // of atb/cxx_abi_N
	SetEnv  string `json:"set_env,omitempty"`  // path of nnal/atb/set_env.sh; "" = absent
	Info    string `json:"info,omitempty"`     // the version.info it was read from
	Dangles bool   `json:"dangles,omitempty"`  // latest leads nowhere
	Arch    string `json:"platform,omitempty"` // Platform of version.info
}

// Installed is all CANN of a host.
type Installed struct {
	Trees []Tree `json:"trees,omitempty"`
	Links []Link `json:"links,omitempty"`
	NNAL  []NNAL `json:"nnal,omitempty"`
}

// At gives the tree that lies at p, or to which p leads.
func (in Installed) At(p string) (Tree, bool) {
	p = strings.TrimRight(p, "/")
	for _, k := range in.Links {
		if k.Path == p && k.Real != "" {
			p = k.Real
			break
		}
	}
	for _, t := range in.Trees {
		if p != "" && (t.Path == p || t.Active == p) {
			return t, true
		}
	}
	return Tree{}, false
}

// Holds gives the tree that p lies in, links followed.
func (in Installed) Holds(p string) (Tree, bool) {
	for at := strings.TrimRight(p, "/"); len(at) > 1; at = at[:max(0, strings.LastIndexByte(at, '/'))] {
		if t, ok := in.At(at); ok {
			return t, true
		}
	}
	return Tree{}, false
}
