import CGTK
import Foundation
import Query
import QuerySQLite
import SystemMainLoop

/// Measures the window of field-notes-gtk, whose sources it is made with:
/// - `fill STORE COUNT` stores a list of that many notes;
/// - `start STORE` says how many milliseconds after the time of `BEGAN`, by the monotonic clock in
///   nanoseconds, the window was drawn with that list;
/// - `frames STORE RATE` says how many frames it draws in ten seconds, while the list is changed so many
///   times a second.
@main @MainActor
struct WindowBench {
  static let folder = "Bench"

  static func main() async throws {
    let words = CommandLine.arguments
    guard words.count > 2, let server = URL(string: "http://127.0.0.1:9") else { exit(64) }
    let notebook = try Notebook(
      server: server, folder: URL(filePath: words[2], directoryHint: .isDirectory))
    let number = words.count > 3 ? Int(words[3]) ?? 0 : 0
    switch words[1] {
    case "fill": Self.fill(notebook, number)
    case "start": Self.run { Self.start(notebook, in: $0) }
    case "frames": Self.run { Self.frames(notebook, in: $0, changesPerSecond: number) }
    default: exit(64)
    }
    try await notebook.storage.close()
  }

  private static func notes(_ notebook: Notebook) -> QueryStore<FolderNotesQuery.State> {
    notebook.client.store(for: FolderNotesQuery(folder: Self.folder).persisted().stale(after: 60))
  }

  private static func note(_ number: Int, _ text: String) -> Note {
    Note(
      id: "note-\(number)", folder: Self.folder, title: "A note with the number \(number)",
      text: text, edition: 1)
  }

  private static func fill(_ notebook: Notebook, _ count: Int) {
    notebook.client.store(for: FoldersQuery().persisted()).currentValue = [
      Folder(name: Self.folder, count: count)
    ]
    var pages = FolderNotesQuery.State.StateValue()
    for start in stride(from: 0, to: count, by: 50) {
      let notes = (start..<min(count, start + 50)).map {
        Self.note($0, "As it was fetched, some words")
      }
      pages.append(
        InfiniteQueryPage(
          id: start == 0 ? "" : "\(start)", value: NotePage(notes: notes, next: nil)))
    }
    Self.notes(notebook).currentValue = pages
  }

  private static func run(_ body: @escaping @MainActor (OpenWindow) -> Void) {
    let application = cgtk_application(gtk_application_new(nil, GApplicationFlags(rawValue: 0)))!
    MainLoop.attachMainActor()
    connect(application, "activate") { _ in body(OpenWindow(application: application)) }
    g_application_run(cgtk_g_application(application), 0, nil)
  }

  private static func start(_ notebook: Notebook, in program: OpenWindow) {
    let began = ProcessInfo.processInfo.environment["BEGAN"].flatMap(UInt64.init) ?? 0
    let count = Self.notes(notebook).currentValue.reduce(0) { $0 + $1.value.notes.count }
    program.open(notebook)
    program.afterEachFrame {
      guard program.rowCount >= count else { return }
      let milliseconds = Double(monotonicNanoseconds() - began) / 1e6
      print("rows \(program.rowCount) ms \(milliseconds)")
      g_application_quit(cgtk_g_application(program.application))
    }
  }

  private static func frames(
    _ notebook: Notebook, in program: OpenWindow, changesPerSecond rate: Int
  ) {
    let store = Self.notes(notebook)
    program.open(notebook)
    program.drawAlways()
    var frames = 0
    program.afterEachFrame { frames += 1 }
    let changing = Task { @concurrent in
      var number = 0
      let clock = ContinuousClock()
      let start = clock.now
      while rate > 0, !Task.isCancelled {
        number += 1
        // Among the first rows, so that what is seen changes.
        store.currentValue[0].value.notes[number % 10].text = "Changed \(number) times"
        try? await clock.sleep(until: start + .seconds(1) * number / rate)
      }
      return number
    }
    Task {
      try? await Task.sleep(for: .seconds(2))
      let begin = frames
      let start = ContinuousClock.now
      try? await Task.sleep(for: .seconds(10))
      let (count, time) = (frames - begin, ContinuousClock.now - start)
      changing.cancel()
      print("rows \(program.rowCount) frames \(count) in \(time), changes \(await changing.value)")
      g_application_quit(cgtk_g_application(program.application))
    }
  }
}

private func monotonicNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The program and its window.
@MainActor
final class OpenWindow {
  let application: UnsafeMutablePointer<GtkApplication>
  private var window: NotesWindow?

  init(application: UnsafeMutablePointer<GtkApplication>) { self.application = application }

  func open(_ notebook: Notebook) {
    self.window = NotesWindow(notebook, in: self.application)
    self.window?.present()
  }

  var rowCount: Int {
    guard let window else { return 0 }
    let model = gtk_list_view_get_model(window.ui.opaque("notes"))
    return Int(g_list_model_get_n_items(model))
  }

  func afterEachFrame(_ body: @escaping @MainActor () -> Void) {
    guard let window else { return }
    let clock = gtk_widget_get_frame_clock(window.ui.widget("window"))
    connect(UnsafeMutableRawPointer(clock), "after-paint") { [self] _ in
      withExtendedLifetime(self) { body() }
    }
  }

  /// Asks for a frame after each frame, as an animation does.
  func drawAlways() {
    guard let window else { return }
    gtk_widget_add_tick_callback(
      window.ui.widget("notes"),
      { widget, _, _ in
        gtk_widget_queue_draw(widget)
        return 1
      }, nil, nil)
  }
}
