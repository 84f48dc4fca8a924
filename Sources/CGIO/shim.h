#ifndef QUERY_CGIO_SHIM_H
#define QUERY_CGIO_SHIM_H

#include <gio/gio.h>
#include <glib-unix.h>
#include <linux/rtnetlink.h>

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

#endif
