import CGTK

/// What a signal calls.
private final class Handler {
  let action: @MainActor (UnsafeMutableRawPointer?) -> Void

  init(_ action: @escaping @MainActor (UnsafeMutableRawPointer?) -> Void) { self.action = action }
}

/// Calls an action at each signal, on the main thread as all of GTK, until the object is gone.
///
/// - Parameter action: Gets the first thing that the signal brings; the object if it brings nothing.
@MainActor
func connect(
  _ object: UnsafeMutableRawPointer?, _ signal: String,
  _ action: @escaping @MainActor (UnsafeMutableRawPointer?) -> Void
) {
  cgtk_connect(
    object, signal,
    { data, argument in
      guard let data else { return }
      // Pointers are not Sendable, and these do not leave the main thread.
      nonisolated(unsafe) let (handler, argument) = (data, argument)
      MainActor.assumeIsolated {
        Unmanaged<Handler>.fromOpaque(handler).takeUnretainedValue().action(argument)
      }
    },
    Unmanaged.passRetained(Handler(action)).toOpaque(),
    { data, _ in
      if let data { Unmanaged<Handler>.fromOpaque(data).release() }
    })
}
