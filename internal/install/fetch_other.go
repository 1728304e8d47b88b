//go:build !unix

package install

import "os"

// diskFree is not known here.
func diskFree(string) (int64, error) { return -1, nil }

// fetchLock: there are no locks here; two downloads of one file at once spoil
// each other, and the digest says so.
func fetchLock(*os.File) (bool, error) { return true, nil }
