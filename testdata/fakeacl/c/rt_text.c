// Texts of errors, in the shapes of the releases: aclGetRecentErrMsg gives
// those of the calling thread, and answers more than it was asked. From 8.5 on
// only the first failure has a head with its code; those that follow are lines
// below TraceBack (run against the true library).
#include "fake.h"
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef struct message { char exx[8], *text; struct message *next; } message;
typedef struct {
  message *reported;  // texts with a code of their own
  char *trace;        // lines of the TraceBack
  char *answer;       // what was told last, and with "stale" all before it
  int last;           // the thread's last runtime code
  bool unread;
} texts;

static __thread texts mine;
static texts shared;             // with err_msg_mode "1"
static atomic_int unread_threads;  // how many threads have a failure nobody asked about

static texts *scope(void) { return fake.process_text ? &shared : &mine; }

static void append(char **to, const char *more) {
  size_t n = *to ? strlen(*to) : 0;
  *to = realloc(*to, n + strlen(more) + 1);
  strcpy(*to + n, more);
}

static const char *title(const char *exx) {
  static const struct { const char *exx, *title; } titles[] = {
    {"EH0001", "Invalid_Argument"}, {"EH0002", "Invalid_Argument_Null_Pointer"}, {"EH0003", "File_Operation_Error_Invalid_Path"},
    {"EH0004", "File_Operation_Error"}, {"EH0007", "Invalid_Argument"}, {"EH0008", "Invalid_Argument_Null_Pointer"}, {"EH0009", "Invalid_Argument"},
    {"EP0003", "Config_Error"}, {"EE1001", "Invalid_Argument"}, {"EE1003", "Invalid_Argument"}, {"EE1010", "Execution_Error_Invalid_Context"},
    {"EE1011", "Invalid_Argument"}, {"EE1017", "Invalid_Argument"}, {"EE1018", "Invalid_Argument_API_Call_Sequence"}, {"E10001", "Invalid_Argument"},
    {"E13000", "File_Operation_Error_Invalid_Path"}, {"E13025", "Invalid_Argument"}, {"EL0004", "Memory_Allocation_Failure"},
    {"EL0001", "Device_Absent/Abnormal"}, {"EL0003", "Invalid_Argument"}, {"E19999", "Inner_Error"}, {"EE9999", "Inner_Error"}, {"EH9999", "Inner_Error"}};
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
    if (!strcmp(titles[i].exx, exx)) return titles[i].title;
  return "";
}

static void line(char **to, const char *exx, const char *text) {
  char head[160], when[40];
  struct timeval now;
  gettimeofday(&now, NULL);
  struct tm t;
  localtime_r(&now.tv_sec, &t);
  size_t n = strftime(when, sizeof when, "%Y-%m-%d-%H:%M:%S", &t);
  snprintf(when + n, sizeof when - n, ".%03d.%03d", (int)(now.tv_usec / 1000), (int)(now.tv_usec % 1000));
  if (fake.release < R85) snprintf(head, sizeof head, "%s: ", exx);
  else snprintf(head, sizeof head, "[PID: %d] %s %s(%s): ", getpid(), when, title(exx), exx);
  append(to, head);
  append(to, text);
  append(to, "\n");
}

static void trace_line(texts *s, const char *text) {
  append(&s->trace, "        ");
  append(&s->trace, text);
  append(&s->trace, "\n");
}

static void push(texts *s, const char *exx, const char *text) {
  if (s->reported && fake.release >= R85) {
    trace_line(s, text);
    return;
  }
  message *m = calloc(1, sizeof *m), **to = &s->reported;
  snprintf(m->exx, sizeof m->exx, "%s", exx);
  m->text = strdup(text);
  while (*to) to = &(*to)->next;
  *to = m;
}

static void trace(texts *s, const char *call, const char *text) {
  char more[1400];
  snprintf(more, sizeof more, "%s[FUNC:%s][FILE:fakeacl.c][LINE:1]", text, call);
  trace_line(s, more);
}

int fake_fail(int code, const char *exx, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  texts *s = scope();
  if (exx) push(s, exx, text);
  else trace(s, fake_call(), text);
  char ends[64];
  snprintf(ends, sizeof ends, "%s failed, the code is %d", fake_call(), code);
  trace(s, fake_call(), ends);
  if (code / 1000 % 100 == 7) mine.last = code;
  return fake_silent(code);
}

// A failure about which the real library says nothing.
int fake_silent(int code) {
  if (!mine.unread) mine.unread = true, unread_threads++;
  return code;
}

int fake_null(const char *param) {
  if (fake.release < R91) return fake_fail(INVALID_PARAM, "EH0002", "Argument [%s] must not be null.", param);
  return fake_fail(INVALID_PARAM, "EH0008", "%s failed because %s cannot be a NULL pointer.", fake_call(), param);
}

int fake_null_model(const char *param) { return fake_fail(INVALID_PARAM, "EH0002", "Argument %s must not be null.", param); }

int fake_value(int code, const char *exx, const char *param, long long value, const char *expected) {
  return fake_fail(code, exx, "%s failed because value %lld for parameter %s is invalid. Expected value: %s.", fake_call(), value, param, expected);
}

#define NO_CONTEXT "Context validation failed. Reason: No valid context is bound to the current thread. Call aclrtSetDevice or aclrtSetCurrentContext on this thread first."

int fake_no_context(void) {
  fake_violate("no-context", "this thread has no current context");
  if (fake.release >= HEAD) {
    fake_fail(RT_NO_CONTEXT, "EE1018", NO_CONTEXT);
    return fake_fail(RT_NO_CONTEXT, "EE1001", "The argument is invalid. Reason: %s execution failed, the context is a null pointer.", fake_call());
  }
  fake_fail(RT_NO_CONTEXT, "EE1001", "The argument is invalid.%sReason: %s execution failed.", fake.release < R91 ? "" : " ", fake_call());
  trace(scope(), fake_call(), "ctx is NULL!");
  return RT_NO_CONTEXT;
}

// Without a context, or without a chip, the call reports a failure of its own,
// and says so in the thread's last code too (facts/acl.md 3 A).
static void own(texts *s) {
  bool chip = fake.driver && fake.devices && fake.backend;
  if (!chip && fake.release >= HEAD) trace(s, "GetDevMsg", "chipType=0 does not support get device msg feature.");
  if (chip && fake.release >= HEAD) push(s, "EE1018", NO_CONTEXT);
  push(s, "EE1001", chip ? "The argument is invalid. Reason: rtGetDevMsg execution failed, the context is a null pointer." : "The argument is invalid. Reason: rtGetDevMsg execution failed, the feature is not supported.");
  mine.last = chip ? RT_NO_CONTEXT : RT_UNSUPPORTED;
}

// Where no failure has a code of its own, the first line of the TraceBack is
// told above it.
static void unnamed(texts *s, char **out) {
  if (fake.release < HEAD) {
    line(out, "EZ9999", "Inner Error!");
    return;
  }
  char *first = s->trace + strspn(s->trace, " "), *end = strchr(first, '\n');
  *end = 0;
  append(out, "E19999: Internal error!\nE19999");
  line(out, "E19999", first);
  memmove(s->trace, end + 1, strlen(end + 1) + 1);
}

static char *compose(texts *s) {
  char *out = NULL;
  if (!s->reported) unnamed(s, &out);
  for (message *m = s->reported, *next; m; m = next) {
    next = m->next;
    line(&out, m->exx, m->text);
    if (m == s->reported) append(&out, "        Solution: Correct the call that is named above.\n");
    free(m->text);
    free(m);
  }
  if (s->trace) {
    append(&out, fake.release >= R91 ? "TraceBack (most recent call last):\n" : "        TraceBack (most recent call last):\n");
    append(&out, s->trace);
  }
  free(s->trace);
  s->reported = NULL, s->trace = NULL;
  return out;
}

// Who asks where nothing failed on this thread has either asked on the wrong
// thread or would take an old text for a new one.
static void judge(void) {
  if (mine.unread) {
    mine.unread = false, unread_threads--;
  } else if (!fake.process_text && unread_threads > 0) {
    fake_violate("error-text-on-another-thread", "another thread has a failure that nobody asked about");
  } else if (!fake.process_text) {
    fake_violate("error-text-without-failure", "no call of this thread failed since it was asked last");
  }
}

const char *aclGetRecentErrMsg(void) {
  CALL_QUIET;
  texts *s = scope();
  judge();
  bool none = !s->reported && !s->trace;
  if (fake.own_text && !fake_current()) own(s), none = false;
  if (none) return NULL;
  char *now = compose(s), *old = s->answer;
  if (fake.stale_text && old) {
    append(&now, "\n");
    append(&now, old);
  }
  // The pointer told before is no longer good.
  if (old) {
    memset(old, '?', strlen(old));
    free(old);
  }
  return s->answer = now;
}

static int level(int l) { return fake_value(INVALID_PARAM, "EH0007", "level", l, "0"); }

aclError aclrtGetLastError(aclrtLastErrLevel l) {
  CALL_QUIET;
  if (l != ACL_RT_THREAD_LEVEL) return level(l);
  int code = mine.last;
  mine.last = 0;
  return code;
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel l) {
  CALL_QUIET;
  return l != ACL_RT_THREAD_LEVEL ? level(l) : mine.last;
}
