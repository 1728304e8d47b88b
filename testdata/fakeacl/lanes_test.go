package fakeacl

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestLanesAtOnce: four threads, each with a context, a model and a stream of
// its own, run side by side; nothing is noted and every answer is its own.
func TestLanesAtOnce(t *testing.T) {
	lib, files := Build(t, Options{Profile: Split}), modelFiles(t)
	s := &script{face: `{"latency_us":200,"copy_mb_s":2000,"parallel":2}`}
	s.add("aclInit NULL")
	lanes := "ABCD"
	each := func(format string, more ...any) {
		for i, lane := range lanes {
			line := fmt.Sprintf(format, more...)
			s.add(fmt.Sprintf("~%c ", lane) + expand(line, i))
		}
	}
	for _, line := range []string{"aclrtCreateContext &c# 0", "aclrtCreateStream &s#", "aclmdlLoadFromFile 'gears.om' &m#", "in# = aclmdlCreateDataset",
		"out# = aclmdlCreateDataset", "aclrtMalloc &p# 256 0", "aclrtMalloc &g# 64 0", "aclrtMalloc &q# 256 0", "aclrtMallocHost &h# 256",
		"b# = aclCreateDataBuffer $p# 256", "gb# = aclCreateDataBuffer $g# 4", "ob# = aclCreateDataBuffer $q# 256", "aclmdlAddDatasetBuffer $in# $b#",
		"aclmdlAddDatasetBuffer $in# $gb#", "aclmdlAddDatasetBuffer $out# $ob#"} {
		each("%s", line)
	}
	for round := range 40 {
		each("fill $h# 0 #%d 256", round%10)
		each("aclrtMemcpyAsync $p# 256 $h# 256 1 $s#")
		each("aclmdlSetDynamicBatchSize $m# $in# 1 %d", 1<<(round%3))
		each("aclmdlExecuteAsync $m# $in# $out# $s#")
		each("aclrtMemcpyAsync $h# 64 $q# 64 2 $s#")
		each("aclrtSynchronizeStreamWithTimeout $s# 60000")
	}
	for _, lane := range lanes {
		s.add(fmt.Sprintf("join %c", lane))
	}
	for i := range lanes {
		s.add(expand("get $h# 60 1 => *", i))
	}
	for _, line := range []string{"aclmdlUnload $m#", "aclmdlDestroyDataset $in#", "aclmdlDestroyDataset $out#", "aclDestroyDataBuffer $b#", "aclDestroyDataBuffer $gb#",
		"aclDestroyDataBuffer $ob#", "aclrtFree $p#", "aclrtFree $g#", "aclrtFree $q#", "aclrtFreeHost $h#", "aclrtDestroyStream $s#", "aclrtDestroyContext $c#"} {
		each("%s", line)
	}
	for _, lane := range lanes {
		s.add(fmt.Sprintf("join %c", lane))
	}
	s.add("aclFinalize")
	p := s.play(t, lib, files)
	var answers []string
	for _, line := range p.lines {
		if line != "0" {
			answers = append(answers, line)
		}
	}
	if got := strings.Join(answers, " "); got != "19 29 39 49" {
		t.Errorf("the lanes answered %s", got)
	}
	last := p.events[len(p.events)-1]
	if len(p.violations) > 0 || p.crashed || last.Event != "end" || !last.Finalized || last.Executes != 160 {
		t.Errorf("noted %v, crashed %v, ended %+v", p.violations, p.crashed, last)
	}
}

// expand puts the number of the lane for #.
func expand(line string, lane int) string { return strings.ReplaceAll(line, "#", strconv.Itoa(lane+1)) }
