#ifndef QUERY_CGIO_SHIM_H
#define QUERY_CGIO_SHIM_H

#include <gio/gio.h>
#include <glib-unix.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <unistd.h>

// Swift imports neither variadic functions nor casts between function types, so each one that is
// needed has a function of its own here.

/// Creates a network monitor of a type.
/// Returns NULL if that kind does not work on this machine.
static inline GNetworkMonitor *cgio_network_monitor_new(GType type) {
  if (!g_type_is_a(type, G_TYPE_INITABLE)) return (GNetworkMonitor *)g_object_new(type, NULL);
  return (GNetworkMonitor *)g_initable_new(type, NULL, NULL, NULL);
}

/// Sets the callback of a source made by `g_unix_fd_source_new`.
static inline void cgio_set_descriptor_callback(
    GSource *source, GUnixFDSourceFunc callback, gpointer data) {
  g_source_set_callback(source, (GSourceFunc)(void (*)(void))callback, data, NULL);
}

/// Whether this is the thread that the process began with.
static inline gboolean cgio_is_main_thread(void) { return syscall(SYS_gettid) == getpid(); }

// What libdispatch exports for main loops of others, as Foundation's run loop is one; no header that
// is installed declares it.

/// The descriptor of an event counter, readable when the main queue has work.
int _dispatch_get_main_queue_handle_4CF(void);
/// Runs what is in the main queue; does nothing inside itself.
void _dispatch_main_queue_callback_4CF(void *message);

#endif
