#ifndef FIELD_NOTES_CGTK_SHIM_H
#define FIELD_NOTES_CGTK_SHIM_H

#include <glib-unix.h>
#include <gtk/gtk.h>

// GTK's casts are macros, and so is the connection of a signal; Swift imports neither. These casts check
// the type, as the macros do.

static inline GApplication *cgtk_g_application(gpointer object) { return G_APPLICATION(object); }
static inline GtkApplication *cgtk_application(gpointer object) { return GTK_APPLICATION(object); }
static inline GtkWidget *cgtk_widget(gpointer object) { return GTK_WIDGET(object); }
static inline GtkWindow *cgtk_window(gpointer object) { return GTK_WINDOW(object); }
static inline GtkToggleButton *cgtk_toggle_button(gpointer object) {
  return GTK_TOGGLE_BUTTON(object);
}
static inline GtkButton *cgtk_button(gpointer object) { return GTK_BUTTON(object); }

/// Connects a signal. The handler is given the data and then what the signal brings, of which it takes
/// the first; a signal that brings nothing gives the object itself.
static inline void cgtk_connect(
    gpointer object, const char *signal, void (*handler)(gpointer data, gpointer argument),
    gpointer data, GClosureNotify release) {
  g_signal_connect_data(object, signal, G_CALLBACK(handler), data, release, G_CONNECT_SWAPPED);
}

#endif
