import CGTK
import Foundation
import Query
import QueryReplay
import QuerySQLite
import SystemMainLoop

/// A small notebook with a window, which works with and without a network. `Models` has what is shown,
/// without a word of GTK; `Views` the widgets; `Shared` the queries, the mutations and the store, which
/// are those of the notebook for the terminal: both may run at once, on the same notes.
@main @MainActor
final class FieldNotes {
  private let notebook: Notebook
  private let application = cgtk_application(
    gtk_application_new("org.example.field-notes", GApplicationFlags(rawValue: 0)))!
  private var window: NotesWindow?

  static func main() async throws {
    let words = CommandLine.arguments
    let options = Dictionary(zip(words, words.dropFirst())) { first, _ in first }
    guard let server = URL(string: options["--server"] ?? "http://127.0.0.1:8080") else {
      print("Usage: field-notes-gtk [--server URL] [--store FOLDER]")
      exit(64)
    }
    let folder = options["--store"].map { URL(filePath: $0, directoryHint: .isDirectory) }
    let notebook = try Notebook(server: server, folder: folder)
    // Sends what waits, of this launch and of earlier ones, as long as it is kept.
    let replaying = try notebook.client.startReplaying()
    // From here on the main actor runs inside GLib's main loop.
    MainLoop.attachMainActor()
    FieldNotes(notebook).run()
    // Attempts that run are ended, so that their writes wait again; then what is left is written.
    await replaying.stop()
    try await notebook.storage.close()
  }

  private init(_ notebook: Notebook) { self.notebook = notebook }

  private func run() {
    let base = cgtk_g_application(self.application)!
    connect(base, "activate") { [unowned self] _ in self.open() }
    self.addAction("new", key: "<Control>n") { [unowned self] in self.window?.beginNote() }
    self.addAction("refresh", key: "F5") { [unowned self] in self.window?.refresh() }
    self.addAction("quit", key: "<Control>q") { g_application_quit(base) }
    // The end of a session ends the program in order, too.
    for signal in [SIGTERM, SIGINT] {
      g_unix_signal_add(signal, quit, base)
    }
    g_application_run(base, 0, nil)
  }

  /// Opens the window; if this was started once more, shows the one that is there.
  private func open() {
    let style = gtk_css_provider_new()
    gtk_css_provider_load_from_data(
      style, String(decoding: PackageResources.style_css, as: UTF8.self), -1)
    gtk_style_context_add_provider_for_display(
      gdk_display_get_default(), OpaquePointer(style),
      guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
    let window = self.window ?? NotesWindow(self.notebook, in: self.application)
    self.window = window
    window.present()
  }

  private func addAction(_ name: String, key: String, _ body: @escaping @MainActor () -> Void) {
    let action = g_simple_action_new(name, nil)
    connect(UnsafeMutableRawPointer(action), "activate") { _ in body() }
    g_action_map_add_action(OpaquePointer(self.application), action)
    g_object_unref(UnsafeMutableRawPointer(action))
    key.withCString { key in
      var keys = [key, nil]
      gtk_application_set_accels_for_action(self.application, "app.\(name)", &keys)
    }
  }
}

/// What a signal of the system does.
private func quit(_ application: gpointer?) -> gboolean {
  g_application_quit(cgtk_g_application(application))
  return 1
}
