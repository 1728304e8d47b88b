package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// JobSpec is a long command that outlives the connection.
type JobSpec struct {
	Argv  []string  // runs in the folder of the job's files
	Env   []string  // KEY=VALUE; stands in a file only the login may read
	Files []JobFile // brought before it starts
}

// JobFile is a file of a job: Size bytes of Src, named relative to its folder.
type JobFile struct {
	Name string
	Src  io.ReaderAt
	Size int64
	Perm fs.FileMode // 0600 when zero
}

// Job is a detached command in a private scratch folder of the host. It has a
// session of its own; where systemd ends the processes of a login that leaves
// (KillUserProcesses=yes) it ends with them and is JobLost.
type Job struct {
	ID   string
	Dir  string // its folder on the host; its files are in Dir/work
	host Host
}

// JobState says what a job does.
type JobState string

const (
	JobReady   JobState = "ready" // its files are there, it was not started
	JobRunning JobState = "running"
	JobExited  JobState = "exited" // Exit holds
	JobLost    JobState = "lost"   // gone without an exit code: killed, or the host restarted
)

// JobStatus is a look at a job.
type JobStatus struct {
	State JobState
	Exit  int
	Log   []byte // the end of what it has said, at most 64 KiB
}

var (
	// ErrNoJob: no such job on this host.
	ErrNoJob = errors.New("no such job")
	// ErrNoHome: the login has no place for scratch folders.
	ErrNoHome = errors.New("the login has neither XDG_STATE_HOME nor HOME, so jobs have no folder")
	// ErrJobRuns: a job that runs is not removed.
	ErrJobRuns = errors.New("the job is still running")
)

// Start brings the files and starts the command. When it fails, nothing runs
// and the folder is gone. Errors wrap ErrNoCommand and ErrNoHome.
func Start(ctx context.Context, h Host, spec JobSpec) (*Job, error) {
	run, err := spec.script()
	if err != nil {
		return nil, err
	}
	j := &Job{ID: strings.ToLower(rand.Text()[:8]), host: h}
	r, err := sh(ctx, h, "job_dir.sh", nil, j.ID, spec.Argv[0])
	switch r.Exit {
	case 3:
		return nil, fmt.Errorf("%s: %w", spec.Argv[0], ErrNoCommand)
	case 4:
		return nil, ErrNoHome
	}
	if err != nil {
		return nil, fmt.Errorf("start a job: %w", err)
	}
	j.Dir = strings.TrimSuffix(string(r.Stdout), "\n")
	if err := j.start(ctx, spec, run); err != nil {
		// The folder goes also when ctx has ended and is the reason.
		_, drop := sh(context.WithoutCancel(ctx), h, "job_drop.sh", nil, j.Dir)
		return nil, errors.Join(fmt.Errorf("start a job: %w", err), drop)
	}
	return j, nil
}

func (j *Job) start(ctx context.Context, spec JobSpec, run string) error {
	for _, f := range spec.Files {
		if dir := path.Dir(f.Name); dir != "." {
			if _, err := j.host.Run(ctx, Command{Argv: []string{"mkdir", "-p", "--", j.Path(dir)}}); err != nil {
				return err
			}
		}
		perm := f.Perm
		if perm == 0 {
			perm = 0o600
		}
		if err := Upload(ctx, j.host, f.Src, f.Size, j.Path(f.Name), perm, nil); err != nil {
			return err
		}
	}
	if err := j.host.WriteFile(ctx, j.Dir+"/run", []byte(run), 0o700); err != nil {
		return err
	}
	_, err := sh(ctx, j.host, "job_start.sh", nil, j.Dir)
	return err
}

// script is what runs on the host. The status comes by rename, so that nobody
// reads half a number; the pid stands beside its start time, because pids come
// again.
func (s JobSpec) script() (string, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return "", errors.New("a job needs a command")
	}
	for _, f := range s.Files {
		if !fs.ValidPath(f.Name) || f.Name == "." || f.Src == nil {
			return "", fmt.Errorf("a job cannot have a file %q", f.Name)
		}
	}
	for _, v := range slices.Concat(s.Argv, s.Env) {
		if strings.ContainsRune(v, 0) {
			return "", errors.New("a job cannot have a NUL byte in its arguments")
		}
	}
	for _, kv := range s.Env {
		if i := strings.IndexByte(kv, '='); i <= 0 {
			return "", fmt.Errorf("environment of a job: want KEY=VALUE, got %q", clip(kv))
		}
	}
	launch, err := texts.ReadFile("forms/job_run.sh")
	if err != nil {
		return "", err
	}
	argv := append(append([]string{"env"}, s.Env...), s.Argv...)
	return "#!/bin/sh\nset -- " + strings.Join(quoteAll(argv), " ") + "\n" + string(launch), nil
}

// Attach finds a job by its id.
func Attach(ctx context.Context, h Host, id string) (*Job, error) {
	all, err := Jobs(ctx, h)
	if err != nil {
		return nil, err
	}
	for _, j := range all {
		if j.ID == id {
			return j, nil
		}
	}
	return nil, fmt.Errorf("%w on %s: %s", ErrNoJob, h, clip(id))
}

// Jobs lists the jobs of this login, sorted by id.
func Jobs(ctx context.Context, h Host) ([]*Job, error) {
	r, err := sh(ctx, h, "job_dir.sh", nil)
	if r.Exit == 4 {
		return nil, ErrNoHome
	}
	if err != nil {
		return nil, err
	}
	var all []*Job
	for _, dir := range lines(string(r.Stdout)) {
		all = append(all, &Job{ID: path.Base(dir), Dir: dir, host: h})
	}
	return all, nil
}

// Path gives the place of a file of the job on the host.
func (j *Job) Path(name string) string { return path.Join(j.Dir, "work", name) }

// Status looks at the job. Errors wrap ErrNoJob when its folder is gone.
func (j *Job) Status(ctx context.Context) (JobStatus, error) {
	r, err := sh(ctx, j.host, "job_status.sh", nil, j.Dir)
	if r.Exit == 3 {
		return JobStatus{}, fmt.Errorf("%w on %s: %s", ErrNoJob, j.host, j.ID)
	}
	if err != nil {
		return JobStatus{}, err
	}
	head, log, _ := strings.Cut(string(r.Stdout), "\n")
	state, code, _ := strings.Cut(head, " ")
	s := JobStatus{State: JobState(state), Log: []byte(log)}
	switch s.State {
	case JobReady, JobRunning, JobLost:
	case JobExited:
		if s.Exit, err = strconv.Atoi(code); err == nil {
			break
		}
		fallthrough
	default:
		return JobStatus{}, fmt.Errorf("status of job %s: %w: %s", j.ID, errForm, clip(head))
	}
	return s, nil
}

// Fetch copies a file of the job to w and compares its sha256.
func (j *Job) Fetch(ctx context.Context, name string, w io.Writer) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("a job has no file %q", name)
	}
	r, err := sh(ctx, j.host, "sum.sh", nil, j.Path(name))
	if err != nil {
		return fmt.Errorf("fetch %s: %w", name, err)
	}
	h := sha256.New()
	r2, err := j.host.Run(ctx, Command{Argv: []string{"cat", "--", j.Path(name)}, Stdout: io.MultiWriter(w, h)})
	if err == nil && r2.Exit != 0 {
		err = classify(r2.Stderr)
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", name, err)
	}
	if got, want := hex.EncodeToString(h.Sum(nil)), strings.TrimSpace(string(r.Stdout)); got != want {
		return fmt.Errorf("fetch %s: sha256 %s there, %s here", name, clip(want), got)
	}
	return nil
}

// Stop ends a running job: SIGTERM to all of its session, SIGKILL after 5 s.
// A job that does not run is left as it is.
func (j *Job) Stop(ctx context.Context) error {
	_, err := sh(ctx, j.host, "job_stop.sh", nil, j.Dir)
	return err
}

// Remove deletes the folder of a job that does not run; else ErrJobRuns.
func (j *Job) Remove(ctx context.Context) error {
	s, err := j.Status(ctx)
	if err != nil {
		return err
	}
	if s.State == JobRunning {
		return fmt.Errorf("%w: %s", ErrJobRuns, j.ID)
	}
	_, err = sh(ctx, j.host, "job_drop.sh", nil, j.Dir)
	return err
}
