// The leanest program that reads what cache-bench's LeanDatabase holds: C alone, as a floor for whole
// processes.
//
//   lean-reader FILE KEY...   the number of the first value, and then the memory that it has with all of them
//   lean-reader FILE          a line for each entry: its date and its key

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what) {
  fprintf(stderr, "lean-reader: %s\n", what);
  return 70;
}

static int list(sqlite3 *database) {
  sqlite3_stmt *statement;
  const char *sql = "SELECT updated_at, key FROM entries";
  if (sqlite3_prepare_v2(database, sql, -1, &statement, 0) != SQLITE_OK) return fail("no table");
  while (sqlite3_step(statement) == SQLITE_ROW) {
    printf("%lld %s\n", sqlite3_column_int64(statement, 0), sqlite3_column_text(statement, 1));
  }
  return sqlite3_finalize(statement) == SQLITE_OK ? 0 : fail("no entries");
}

/// The number in the JSON of a note.
static long number_of(const char *json) {
  const char *place = strstr(json, "\"id\":");
  return place ? atol(place + 5) : 0;
}

static long resident_bytes(void) {
  long size, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%ld %ld", &size, &pages) != 2) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static int read_values(sqlite3 *database, int count, char **keys) {
  sqlite3_stmt *statement;
  const char *sql = "SELECT value FROM entries WHERE key = ?";
  if (sqlite3_prepare_v2(database, sql, -1, &statement, 0) != SQLITE_OK) return fail("no table");
  // As alive as the stores of a client: until the end.
  char **values = calloc((size_t)count, sizeof *values);
  if (!values) return fail("no memory");
  for (int i = 0; i < count; i++) {
    sqlite3_bind_text(statement, 1, keys[i], -1, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_ROW) return fail("an entry is missing");
    values[i] = strndup(
        sqlite3_column_blob(statement, 0), (size_t)sqlite3_column_bytes(statement, 0));
    if (!values[i]) return fail("no memory");
    sqlite3_reset(statement);
    if (i > 0) continue;
    printf("%ld\n", number_of(values[0]));
    fflush(stdout);
  }
  printf("%ld\n", resident_bytes());
  return sqlite3_finalize(statement) == SQLITE_OK ? 0 : fail("a value cannot be read");
}

int main(int count, char **arguments) {
  sqlite3 *database;
  if (count < 2) return fail("usage: lean-reader FILE [KEY...]");
  if (sqlite3_open_v2(arguments[1], &database, SQLITE_OPEN_READWRITE, 0) != SQLITE_OK) {
    return fail(sqlite3_errmsg(database));
  }
  int status = count == 2 ? list(database) : read_values(database, count - 2, arguments + 2);
  return sqlite3_close(database) == SQLITE_OK ? status : fail("it is not closed");
}
