//go:build !linux

package engine

// LockDevices locks nothing: there are no devices here.
func LockDevices(LockOptions) (*Locks, error) { return &Locks{}, nil }
