import CGIO
// For the library that has the two functions of CGIO.
import Dispatch
import Glibc
import Synchronization

/// The source of GLib's default context that runs the main queue: none or one in a process.
enum MainQueueSource {
  /// There is a source while it is kept or used.
  private struct State {
    /// The source's number; 0 without one.
    var source: guint = 0
    /// For good.
    var isKept = false
    /// How many calls of ``MainLoop/run()`` iterate the context.
    var uses = 0

    mutating func update() {
      let isNeeded = self.isKept || self.uses > 0
      if isNeeded, self.source == 0 {
        let descriptor = _dispatch_get_main_queue_handle_4CF()
        self.source = g_unix_fd_add(descriptor, G_IO_IN, runMainQueue, nil)
      } else if !isNeeded, self.source != 0 {
        g_source_remove(self.source)
        self.source = 0
      }
    }
  }

  private static let state = Mutex(State())

  /// Adds it for as long as the process lives.
  static func keep() {
    self.state.withLock { state in
      state.isKept = true
      state.update()
    }
  }

  /// Adds it until ``end()``.
  static func begin() {
    self.state.withLock { state in
      state.uses += 1
      state.update()
    }
  }

  static func end() {
    self.state.withLock { state in
      state.uses -= 1
      state.update()
    }
  }
}

/// Whether this is the thread that the process began with.
func isMainThread() -> Bool { cgio_is_main_thread() != 0 }

/// Runs what the main queue has.
private func runMainQueue(
  _ descriptor: gint, _ condition: GIOCondition, _ data: gpointer?
) -> gboolean {
  precondition(
    isMainThread(),
    "MainLoop.attachMainActor() was called, but GLib's main loop runs on another thread than the"
      + " main one")
  // First, so that work which comes from now on wakes the loop again. It fails if another library
  // has run the queue meanwhile.
  var count: UInt64 = 0
  _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
  _dispatch_main_queue_callback_4CF(nil)
  return 1
}
