import CGIO

/// A main context of GLib: one thread iterates it, any thread wakes that one.
// @unchecked: GLib guards its contexts, and the pointer never changes.
final class MainContext: @unchecked Sendable {
  let pointer: OpaquePointer

  init() { self.pointer = g_main_context_new() }

  deinit { g_main_context_unref(self.pointer) }

  /// Runs a closure on the thread that iterates this context. GIO objects that the closure creates
  /// receive their events here.
  func asThreadDefault(_ body: () -> Void) {
    g_main_context_push_thread_default(self.pointer)
    defer { g_main_context_pop_thread_default(self.pointer) }
    body()
  }

  /// Waits for something to happen, or for ``wakeUp()``, and handles it.
  func iterate() { _ = g_main_context_iteration(self.pointer, 1) }

  /// Makes the iteration that waits, or else the next one, return.
  func wakeUp() { g_main_context_wakeup(self.pointer) }
}
