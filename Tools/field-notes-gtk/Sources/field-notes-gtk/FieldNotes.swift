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
struct FieldNotes {
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
    // Before GTK starts, so that the notes are read meanwhile.
    Self.run(NotesModel(notebook))
    // Attempts that run are ended, so that their writes wait again; then what is left is written.
    await replaying.stop()
    try await notebook.storage.close()
  }

  private static func run(_ notes: NotesModel) {
    let application = gtk_application_new("org.example.field-notes", GApplicationFlags(rawValue: 0))
    var window: NotesWindow?
    connect(application, "activate") { _ in
      // Started once more, it shows the window that is there.
      window = window ?? NotesWindow(notes, in: application)
      window?.present()
    }
    // The end of a session ends the program in order, too.
    for signal in [SIGTERM, SIGINT] {
      g_unix_signal_add(signal, quit, application)
    }
    g_application_run(cgtk_g_application(application), 0, nil)
  }
}

/// What a signal of the system does.
private func quit(_ application: gpointer?) -> gboolean {
  g_application_quit(cgtk_g_application(application))
  return 1
}
