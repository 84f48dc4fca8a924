import CGIO
import Dispatch

/// The main actor inside GLib's main loop.
///
/// Swift's main actor is the main queue of libdispatch. A main thread in `g_application_run` or
/// `g_main_loop_run` knows nothing of that queue: without this, nothing on `@MainActor` ever runs
/// in a GTK program. A program with a loop attaches the main actor before it:
/// ```swift
/// MainLoop.attachMainActor()
/// g_application_run(application, 0, nil)
/// ```
/// One without a loop of its own calls ``run()``.
///
/// Nothing polls, and there is no thread: the loop watches a descriptor that becomes readable when
/// the main actor has work, and an idle program is never woken. Timers of Foundation's
/// `RunLoop.main` do not run under GLib; use `Task.sleep`.
public enum MainLoop {
  /// Lets the main actor and the main queue run inside GLib's main loop of this thread, that of the
  /// default context, for as long as the process lives.
  ///
  /// Calls after the first one do nothing. It is a programmer's mistake, at which the program ends,
  /// to call this on another thread than the main one, or to run the loop on another one.
  ///
  /// While a task of the main actor runs a loop inside the loop, as a modal dialog does, the other
  /// tasks of the main actor wait for the end of that. If another library runs the main queue too,
  /// each piece of work is still done once, on the main thread.
  public static func attachMainActor() {
    precondition(
      isMainThread(), "MainLoop.attachMainActor() was called on another thread than the main one")
    MainQueueSource.keep()
  }

  /// Runs GLib's main loop, and the main actor inside it, until `SIGTERM`, `SIGINT`, ``quit()``, or the
  /// cancellation of the task.
  ///
  /// For programs without a loop of their own, such as services:
  /// ```swift
  /// @main
  /// struct Service {
  ///   static func main() async throws {
  ///     let serving = Task { await serve() }
  ///     try await MainLoop.run()
  ///     serving.cancel()
  ///     await serving.value
  ///   }
  /// }
  /// ```
  /// It does not suspend there, since the main thread would be lost to the loop: it stays in this
  /// call, and runs the other tasks of the main actor from the loop. So it has to come before the
  /// first `await` of the main function that suspends; after that there is no main thread any more.
  /// Inside a loop of GLib that runs already it suspends, and waits for the same ends.
  ///
  /// After it the two signals end the process again, as they do by default: a second one is not
  /// lost on a program that takes long to end.
  ///
  /// It is a programmer's mistake, at which the program ends, to call this when the main actor is
  /// not on the main thread, when another thread runs GLib's main loop, or in a task that another
  /// loop than GLib's runs, such as Foundation's.
  ///
  /// - Throws: `CancellationError` if the task is cancelled. A signal is no error.
  @MainActor
  public static func run() async throws {
    precondition(
      isMainThread(),
      "MainLoop.run() was called on another thread than the main one, or after the main function"
        + " had suspended")
    try Task.checkCancellation()
    let ending = Mark()
    let outer = Self.ending
    Self.ending = ending
    let signals = [SIGTERM, SIGINT].map { signal in
      g_unix_signal_add(signal, setMark, Unmanaged.passUnretained(ending).toOpaque())
    }
    MainQueueSource.begin()
    defer {
      MainQueueSource.end()
      for signal in signals { g_source_remove(signal) }
      withExtendedLifetime(ending) {}
      Self.ending = outer
    }
    await withTaskCancellationHandler {
      if g_main_depth() > 0 { await ending.wait() } else { Self.iterate(until: ending) }
    } onCancel: {
      ending.set()
      g_main_context_wakeup(nil)
    }
    try Task.checkCancellation()
  }

  /// What ends the innermost call of `run()`.
  @MainActor private static var ending: Mark?

  /// Lets ``run()`` return, as a signal does; nothing happens if it does not run.
  @MainActor
  public static func quit() {
    self.ending?.set()
    g_main_context_wakeup(nil)
  }

  /// Runs the loop on this thread.
  @MainActor
  private static func iterate(until ending: Mark) {
    precondition(
      g_main_context_acquire(nil) != 0,
      "MainLoop.run() was called while another thread runs GLib's main loop")
    defer { g_main_context_release(nil) }
    // A main queue that runs this call runs nothing inside it, and all of the main actor would wait.
    let probe = Mark()
    DispatchQueue.main.async { probe.set() }
    _dispatch_main_queue_callback_4CF(nil)
    precondition(
      probe.isSet, "MainLoop.run() was called in a task that another loop than GLib's runs")
    // Not g_main_loop_run, which forgets a g_main_loop_quit that came before it.
    while !ending.isSet { g_main_context_iteration(nil, 1) }
  }
}

/// Sets the mark that a source was given. The source stays, and is removed by its number.
private func setMark(_ mark: gpointer?) -> gboolean {
  if let mark { Unmanaged<Mark>.fromOpaque(mark).takeUnretainedValue().set() }
  return 1
}
