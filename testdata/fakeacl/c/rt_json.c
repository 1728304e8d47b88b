// JSON as aclInit and the double's own settings need it: strict, small, with
// line and column in its errors.
#include "fake.h"
#include <ctype.h>

typedef struct { const char *p, *end, *start; int objects, arrays, max; char *error; size_t error_size; } reader;

static json *value(reader *r);

static json *broken(reader *r, const char *what) {
  int line = 1, column = 1;
  for (const char *q = r->start; q < r->p; q++) column = *q == '\n' ? (line++, 1) : column + 1;
  if (!*r->error) snprintf(r->error, r->error_size, "Parse exception: parse error at line %d, column %d: %s", line, column, what);
  return NULL;
}

static void blank(reader *r) {
  while (r->p < r->end && isspace((unsigned char)*r->p)) r->p++;
}

static bool take(reader *r, char c) {
  blank(r);
  if (r->p == r->end || *r->p != c) return false;
  r->p++;
  return true;
}

static json *node(char type) {
  json *j = calloc(1, sizeof *j);
  j->type = type;
  return j;
}

static json *text(reader *r) {
  const char *from = r->p;
  while (r->p < r->end && *r->p != '"' && *r->p != '\n') r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
  if (r->p >= r->end || *r->p != '"') return broken(r, "a text without an end");
  json *j = node('s');
  j->text = malloc(r->p - from + 1);
  char *to = j->text;
  for (const char *q = from; q < r->p; q++) {
    if (*q == '\\' && q[1] == 'n') *to++ = '\n', q++;
    else if (*q == '\\') *to++ = *++q;
    else *to++ = *q;
  }
  *to = 0;
  r->p++;
  return j;
}

static json *members(reader *r, char type, char end) {
  int *depth = type == '{' ? &r->objects : &r->arrays;
  if (++*depth > r->max) { // each kind has the whole depth for itself
    if (!*r->error) snprintf(r->error, r->error_size, "object depth %d exceeds max %d or array depth %d exceeds max %d", r->objects, r->max, r->arrays, r->max);
    return NULL;
  }
  json *j = node(type), **to = &j->child;
  for (bool first = true; !take(r, end); first = false) {
    char *key = NULL;
    if (!first && !take(r, ',')) goto bad;
    if (type == '{') {
      if (!take(r, '"')) goto bad;
      json *k = text(r);
      if (!k) goto out;
      key = k->text;
      free(k);
      if (!take(r, ':')) { free(key); goto bad; }
    }
    if (!(*to = value(r))) { free(key); goto out; }
    (*to)->key = key;
    to = &(*to)->next;
  }
  --*depth;
  return j;
bad:
  broken(r, "something else was expected here");
out:
  json_free(j);
  return NULL;
}

static json *value(reader *r) {
  if (take(r, '{')) return members(r, '{', '}');
  if (take(r, '[')) return members(r, '[', ']');
  if (take(r, '"')) return text(r);
  static const struct { const char *word; char type; double number; } words[] = {{"true", 'b', 1}, {"false", 'b', 0}, {"null", '0', 0}};
  for (int i = 0; i < 3; i++) {
    size_t n = strlen(words[i].word);
    if ((size_t)(r->end - r->p) < n || strncmp(r->p, words[i].word, n)) continue;
    r->p += n;
    json *j = node(words[i].type);
    j->number = words[i].number;
    return j;
  }
  char digits[64], *stop;
  snprintf(digits, sizeof digits, "%.*s", (int)(r->end - r->p), r->p);
  double d = strtod(digits, &stop);
  if (stop == digits) return broken(r, "a value was expected");
  r->p += stop - digits;
  json *j = node('n');
  j->number = d;
  return j;
}

// An empty text is an empty object, and a byte order mark is passed over:
// the real aclInit takes both (facts/acl.md section 9).
json *json_parse(const char *data, size_t n, int max_depth, char *error, size_t error_size) {
  if (n >= 3 && !memcmp(data, "\xef\xbb\xbf", 3)) data += 3, n -= 3;
  reader r = {data, data + n, data, 0, 0, max_depth, error, error_size};
  *error = 0;
  blank(&r);
  if (r.p == r.end) return node('{');
  json *j = value(&r);
  blank(&r);
  if (j && r.p != r.end) {
    json_free(j);
    return broken(&r, "more behind the end");
  }
  return j;
}

json *json_get(const json *j, const char *key) {
  if (!j || j->type != '{') return NULL;
  for (json *c = j->child; c; c = c->next)
    if (!strcmp(c->key, key)) return c;
  return NULL;
}

const char *json_text(const json *j, const char *key, const char *otherwise) {
  json *v = json_get(j, key);
  return v && v->type == 's' ? v->text : otherwise;
}

double json_number(const json *j, const char *key, double otherwise) {
  json *v = json_get(j, key);
  return v && (v->type == 'n' || v->type == 'b') ? v->number : otherwise;
}

void json_free(json *j) {
  while (j) {
    json *next = j->next;
    json_free(j->child);
    free(j->key);
    free(j->text);
    free(j);
    j = next;
  }
}
