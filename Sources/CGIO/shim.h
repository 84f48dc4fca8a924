#ifndef QUERY_CGIO_SHIM_H
#define QUERY_CGIO_SHIM_H

#include <gio/gio.h>
#include <glib-unix.h>
#include <linux/rtnetlink.h>

// Swift imports neither functions with variable arguments nor casts between types of functions, so
// each of them that is needed has a function of its own here.

/// Creates a network monitor of a type.
/// Returns NULL where that kind does not work on this machine.
static inline GNetworkMonitor *cgio_network_monitor_new(GType type) {
  if (!g_type_is_a(type, G_TYPE_INITABLE)) return (GNetworkMonitor *)g_object_new(type, NULL);
  return (GNetworkMonitor *)g_initable_new(type, NULL, NULL, NULL);
}

/// Sets what a source of `g_unix_fd_source_new` calls.
static inline void cgio_set_descriptor_callback(
    GSource *source, GUnixFDSourceFunc callback, gpointer data) {
  g_source_set_callback(source, (GSourceFunc)(void (*)(void))callback, data, NULL);
}

#endif
