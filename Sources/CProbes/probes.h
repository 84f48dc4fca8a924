#ifndef OFFLINE_QUERY_PROBES_H
#define OFFLINE_QUERY_PROBES_H

#include <stdint.h>

// Static probes, for bpftrace, perf, gdb and SystemTap: each is one nop and a note in the binary, which
// `readelf -n` shows. Swift cannot write the macros of <sys/sdt.h> (Debian's systemtap-sdt-dev, a header
// alone). Without that the probes are left out.
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define DTRACE_PROBE(provider, name) ((void)0)
#define DTRACE_PROBE1(provider, name, a) ((void)(a))
#define DTRACE_PROBE2(provider, name, a, b) ((void)(a), (void)(b))
#endif

// --- Queries. A fetch is named by a number that no other running fetch has, and so is a store's query.

static inline void probe_fetch_begin(uint64_t fetch) {
  DTRACE_PROBE1(offline_query, fetch_begin, fetch);
}

static inline void probe_fetch_end(uint64_t fetch, int32_t failed) {
  DTRACE_PROBE2(offline_query, fetch_end, fetch, failed);
}

static inline void probe_hydrate_begin(uint64_t query) {
  DTRACE_PROBE1(offline_query, hydrate_begin, query);
}

/// The bytes of the value; -1: there was none to show.
static inline void probe_hydrate_end(uint64_t query, int64_t bytes) {
  DTRACE_PROBE2(offline_query, hydrate_end, query, bytes);
}

// --- Files.

/// A transaction of the cache: entries written or removed, and bytes handed to the system.
static inline void probe_cache_commit(int64_t entries, int64_t bytes) {
  DTRACE_PROBE2(offline_query, cache_commit, entries, bytes);
}

/// How long a transaction or a checkpoint has kept other writers out.
static inline void probe_write_hold(int64_t microseconds) {
  DTRACE_PROBE1(offline_query, write_hold, microseconds);
}

/// The frames of a WAL, and how many of them a checkpoint has copied.
static inline void probe_checkpoint(int64_t frames, int64_t copied) {
  DTRACE_PROBE2(offline_query, checkpoint, frames, copied);
}

static inline void probe_evict(int64_t entries) { DTRACE_PROBE1(offline_query, evict, entries); }

/// SQLite's code of the error.
static inline void probe_degraded(int32_t code) { DTRACE_PROBE1(offline_query, degraded, code); }

static inline void probe_recovered(void) { DTRACE_PROBE(offline_query, recovered); }

// --- Mutations. Each is named by the first eight bytes of its identifier, as a number: printed with 16
// hexadecimal digits, it is what the tools take for the beginning of the identifier.

static inline void probe_enqueue(uint64_t mutation) {
  DTRACE_PROBE1(offline_query, enqueue, mutation);
}

static inline void probe_claim(uint64_t mutation) {
  DTRACE_PROBE1(offline_query, claim, mutation);
}

/// The attempt's number, from 1.
static inline void probe_attempt_begin(uint64_t mutation, int64_t number) {
  DTRACE_PROBE2(offline_query, attempt_begin, mutation, number);
}

static inline void probe_attempt_end(uint64_t mutation) {
  DTRACE_PROBE1(offline_query, attempt_end, mutation);
}

/// What has become of it: a string that lives as long as the program.
static inline void probe_settle(uint64_t mutation, const char *outcome) {
  DTRACE_PROBE2(offline_query, settle, mutation, outcome);
}

/// Why it is dead: a string that lives as long as the program.
static inline void probe_dead(uint64_t mutation, const char *reason) {
  DTRACE_PROBE2(offline_query, dead, mutation, reason);
}

#endif
