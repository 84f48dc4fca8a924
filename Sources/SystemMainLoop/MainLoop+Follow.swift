import CGIO
import Observation

extension MainLoop {
  /// Below GTK's own frames (`GDK_PRIORITY_REDRAW` is 120) and above what is done in idle time.
  private static let afterFrames: gint = 130

  /// Shows what a closure reads, at once, and shows it again whenever anything has changed that it was made
  /// of: stores, and models that are `@Observable`.
  ///
  /// ```swift
  /// self.following = [
  ///   MainLoop.follow { notes.status } show: { gtk_label_set_text(label, $0) }
  /// ]
  /// ```
  /// Changes may be made on any thread, and none is missed. What has changed is shown when the input that
  /// has come is handled and the frame that is due is drawn; until then changes are collected. So a window
  /// goes on drawing under more changes than it can show.
  ///
  /// - Parameters:
  ///   - read: Reads the value. It is called twice each time.
  ///   - show: Shows a value, in widgets for example.
  /// - Returns: The task that follows. It keeps what the closures hold, and ends when it is cancelled.
  @MainActor
  public static func follow<Value>(
    _ read: @escaping @MainActor () -> Value, show: @escaping @MainActor (Value) -> Void
  ) -> Task<Void, Never> {
    Task.immediate { @MainActor in
      while !Task.isCancelled {
        let (changes, signal) = AsyncStream.makeStream(of: Never.self)
        withObservationTracking {
          _ = read()
        } onChange: {
          signal.finish()
        }
        // Read once more: the tracking holds from here on only, and stores change on any thread.
        show(read())
        for await _ in changes {}
        if !Task.isCancelled { await Self.turnAfterFrames() }
      }
    }
  }

  /// Returns in a turn of the main loop that has nothing more urgent to do.
  @MainActor
  private static func turnAfterFrames() async {
    let turn = Mark()
    g_idle_add_full(
      Self.afterFrames,
      { mark in
        if let mark { Unmanaged<Mark>.fromOpaque(mark).takeRetainedValue().set() }
        return 0
      }, Unmanaged.passRetained(turn).toOpaque(), nil)
    await turn.wait()
  }
}
