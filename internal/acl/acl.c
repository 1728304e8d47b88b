//go:build cgo && linux

#define _GNU_SOURCE
#include "acl_abi.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

acl_api acl_t;

// The current context and the text of the last failure belong to a thread, so
// each call says on which one it must be.
static _Thread_local uint64_t acl_self;
static atomic_uint_fast64_t acl_threads;

uint64_t acl_thread(void) {
  if (!acl_self) acl_self = ++acl_threads;
  return acl_self;
}

// The library can answer a text that grows with each failure; the newest is its
// beginning.
enum { TEXT_MAX = 16384 };

static acl_ret failed(aclError code) {
  acl_ret r = {code, NULL};
  const char *text = acl_t.aclGetRecentErrMsg();
  if (text) r.text = strndup(text, TEXT_MAX);
  return r;
}

#define ASK(call)                                                       \
  if (self != acl_self) return (acl_ret){ACL_WRONG_THREAD, NULL};       \
  aclError code = call;                                                 \
  return code ? failed(code) : (acl_ret){0, NULL};
#define DO(name, args, ...) acl_ret c_##name(uint64_t self, __VA_ARGS__) { ASK(acl_t.name args) }
#define DO_Z(name) acl_ret c_##name(uint64_t self) { ASK(acl_t.name()) }
#define DO_O(name, args, ...)                                           \
  acl_ret c_##name(uint64_t self, __VA_ARGS__) {                        \
    if (!acl_t.name) return (acl_ret){ACL_MISSING, NULL};               \
    ASK(acl_t.name args)                                                \
  }
#define DO_V(ret, name, args, ...) ret c_##name(__VA_ARGS__) { return acl_t.name args; }
#define DO_N(name, args, ...) void c_##name(__VA_ARGS__) { acl_t.name args; }
ACL_LIST(DO, DO_Z, DO_O, DO_V, DO_N)

static const struct { const char *name; int required; size_t at; } rows[] = {
#define ROW(name, ...) {#name, 1, offsetof(acl_api, name)},
#define ROW_O(name, ...) {#name, 0, offsetof(acl_api, name)},
#define ROW_V(ret, name, ...) {#name, 1, offsetof(acl_api, name)},
    ACL_LIST(ROW, ROW, ROW_O, ROW_V, ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

static atomic_flag claimed = ATOMIC_FLAG_INIT;
int acl_claim(void) { return !atomic_flag_test_and_set(&claimed); }
void acl_release(void) { atomic_flag_clear(&claimed); }

// A pointer to a function has no other legal way out of a void pointer than
// through its bytes.
const char *acl_bind(void *const *libs, size_t n) {
  acl_api t;
  for (size_t r = 0; r < ROWS; r++) {
    void *p = NULL;
    for (size_t i = 0; i < n && !p; i++) p = dlsym(libs[i], rows[r].name);
    if (!p && rows[r].required) return rows[r].name;
    memcpy((char *)&t + rows[r].at, &p, sizeof p);
  }
  acl_t = t;
  return NULL;
}

const char *acl_name(size_t row, int *required, int *found) {
  if (row >= ROWS) return NULL;
  void *p;
  memcpy(&p, (char *)&acl_t + rows[row].at, sizeof p);
  *required = rows[row].required;
  *found = p != NULL;
  return rows[row].name;
}

struct acl_signals { struct sigaction was[65]; };

acl_signals *acl_signals_save(void) {
  acl_signals *s = calloc(1, sizeof *s);
  for (int n = 1; s && n <= 64; n++) sigaction(n, NULL, &s->was[n]);
  return s;
}

// Signals of the C library itself are refused by sigaction both ways, so they
// compare as unchanged.
uint64_t acl_signals_restore(acl_signals *s) {
  uint64_t changed = 0;
  for (int n = 1; n <= 64; n++) {
    struct sigaction now = {0}, *was = &s->was[n];
    sigaction(n, NULL, &now);
    if (now.sa_sigaction == was->sa_sigaction && now.sa_flags == was->sa_flags) continue;
    sigaction(n, was, NULL);
    changed |= n == 64 ? 1 : (uint64_t)1 << n;
  }
  free(s);
  return changed;
}
