import Foundation

/// Runs a closure on a thread of its own.
///
/// - Parameters:
///   - name: The thread's name, for a debugger.
///   - body: The closure.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
  let thread = Thread(block: body)
  thread.name = name
  thread.start()
}
