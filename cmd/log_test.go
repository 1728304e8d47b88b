package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

func TestLogFilesAreLazyMaskedAndFew(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	secrets := &report.Redactor{}
	secrets.Add("hunter22")
	open := func() *logFile {
		now = now.Add(time.Second)
		return newLog(logOptions{Dir: dir, Level: "info", Now: func() time.Time { return now }, Secrets: secrets})
	}
	silent := open()
	silent.Debug("not wanted")
	silent.close()
	if files, _ := filepath.Glob(dir + "/*"); len(files) > 0 || silent.path() != "" {
		t.Errorf("a silent run left %v", files)
	}
	for range kept + 5 {
		l := open()
		l.Info("hello", "password", "hunter22")
		l.close()
	}
	files, _ := filepath.Glob(dir + "/log/*.log")
	if len(files) != kept {
		t.Errorf("%d files are kept, want %d", len(files), kept)
	}
	data, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(data), "hunter22") || !strings.Contains(string(data), report.Mask) {
		t.Errorf("%v: %s", err, data)
	}
	if info, _ := os.Stat(files[0]); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestLogOfALongServiceIsBounded(t *testing.T) {
	dir := t.TempDir()
	l := newLog(logOptions{Dir: dir, Level: "info", Now: time.Now, Secrets: &report.Redactor{}})
	defer l.close()
	l.Info("first")
	l.lazy.size = maxLog // as if months had passed
	l.Info("over")
	l.Info("after")
	data, err := os.ReadFile(l.path())
	if err != nil || strings.Contains(string(data), "first") || !strings.Contains(string(data), "after") {
		t.Errorf("%v: %s", err, data)
	}
	old, err := os.ReadFile(l.path() + ".old")
	if err != nil || !strings.Contains(string(old), "first") || !strings.Contains(string(old), "over") {
		t.Errorf("%v: %s", err, old)
	}
}
