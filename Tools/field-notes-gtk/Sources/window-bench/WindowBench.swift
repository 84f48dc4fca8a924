import CGTK
import Foundation
import Query
import QuerySQLite
import SystemMainLoop

/// Measures the window of field-notes-gtk, whose sources it is made with:
/// - `fill STORE COUNT` stores a list of that many notes;
/// - `start STORE COUNT` says how many milliseconds after the time of `BEGAN`, by the monotonic clock in
///   nanoseconds, the window was drawn first, drawn with notes, if there are any, and drawn with all;
/// - `frames STORE RATE` says how many frames it draws in ten seconds, while the list is changed so many
///   times a second, and how long the main thread works meanwhile;
/// - `idle STORE` leaves the window open for half a minute, and says how often the main thread was woken.
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
    case "start": Self.run(notebook) { Self.start(in: $0, count: number) }
    case "frames":
      Self.run(notebook) { Self.frames(Self.notes(notebook), in: $0, changesPerSecond: number) }
    case "idle": Self.run(notebook) { Self.idle(in: $0) }
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

  /// Opens the window as the program does.
  private static func run(_ notebook: Notebook, _ body: @escaping @MainActor (OpenWindow) -> Void) {
    MainLoop.attachMainActor()
    let notes = NotesModel(notebook)
    let application = cgtk_application(gtk_application_new(nil, GApplicationFlags(rawValue: 0)))!
    connect(application, "activate") { _ in
      let program = OpenWindow(application: application, notes)
      body(program)
    }
    g_application_run(cgtk_g_application(application), 0, nil)
  }

  private static func start(in program: OpenWindow, count: Int) {
    let began = ProcessInfo.processInfo.environment["BEGAN"].flatMap(UInt64.init) ?? 0
    var (firstFrame, firstRows): (Double?, Double?)
    program.afterEachFrame {
      let milliseconds = Double(monotonicNanoseconds() - began) / 1e6
      firstFrame = firstFrame ?? milliseconds
      if count == 0 || program.rowCount > 0 { firstRows = firstRows ?? milliseconds }
      guard program.rowCount >= count, let firstFrame, let firstRows else { return }
      print("window \(firstFrame) ms, notes \(firstRows) ms, all \(count) \(milliseconds) ms")
      g_application_quit(cgtk_g_application(program.application))
    }
  }

  private static func frames(
    _ store: QueryStore<FolderNotesQuery.State>, in program: OpenWindow,
    changesPerSecond rate: Int
  ) {
    program.drawAlways()
    var frames = 0
    program.afterEachFrame { frames += 1 }
    let changing = Task { @concurrent in
      await store.hydrated()
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
      let (begin, worked) = (frames, threadMilliseconds())
      let start = ContinuousClock.now
      try? await Task.sleep(for: .seconds(10))
      let (count, time) = (frames - begin, ContinuousClock.now - start)
      let work = threadMilliseconds() - worked
      changing.cancel()
      print(
        "rows \(program.rowCount), frames \(count) in \(time), main thread \(work) ms,",
        "changes \(await changing.value)")
      g_application_quit(cgtk_g_application(program.application))
    }
  }

  private static func idle(in program: OpenWindow) {
    Task {
      // Beside it, nothing here waits for a time: the two sleeps wake the main thread once each.
      try? await Task.sleep(for: .seconds(5))
      let woken = threadWakeUps()
      try? await Task.sleep(for: .seconds(30))
      print("woken \(threadWakeUps() - woken) times in 30 s, one of them to say so")
      g_application_quit(cgtk_g_application(program.application))
    }
  }
}

private func monotonicNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// How long this thread has worked.
private func threadMilliseconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

/// How often this thread has waited.
private func threadWakeUps() -> Int {
  var usage = rusage()
  // RUSAGE_THREAD, which Swift does not import.
  getrusage(1, &usage)
  return usage.ru_nvcsw
}

/// The program and its window.
@MainActor
final class OpenWindow {
  let application: UnsafeMutablePointer<GtkApplication>
  private let window: NotesWindow
  private var onFrame: @MainActor () -> Void = {}

  init(application: UnsafeMutablePointer<GtkApplication>, _ notes: NotesModel) {
    self.application = application
    self.window = NotesWindow(notes, in: application)
    // Before the window connects what it does after a frame that is on the screen.
    gtk_widget_realize(self.window.ui.widget("window"))
    let clock = gtk_widget_get_frame_clock(self.window.ui.widget("window"))
    connect(UnsafeMutableRawPointer(clock), "after-paint") { [self] _ in self.onFrame() }
    self.window.present()
  }

  var rowCount: Int {
    let model = gtk_list_view_get_model(self.window.ui.opaque("notes"))
    return Int(g_list_model_get_n_items(model))
  }

  func afterEachFrame(_ body: @escaping @MainActor () -> Void) { self.onFrame = body }

  /// Asks for a frame after each frame, as an animation does.
  func drawAlways() {
    gtk_widget_add_tick_callback(
      self.window.ui.widget("notes"),
      { widget, _, _ in
        gtk_widget_queue_draw(widget)
        return 1
      }, nil, nil)
  }
}
