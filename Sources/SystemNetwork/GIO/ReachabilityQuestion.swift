import CGIO
import Foundation
import Query

/// A question to a network monitor whether a host can be reached. It lives on the monitor's thread,
/// except for its creation and its end.
// @unchecked: the answer is guarded, and GLib guards the cancellable, whose pointer never changes.
final class ReachabilityQuestion: @unchecked Sendable {
  private let url: URL
  private let cancellable: UnsafeMutablePointer<GCancellable>
  private let state = Locked(State.new)

  private enum State {
    case new
    case waiting(@Sendable (NetworkReachability) -> Void)
    case over
  }

  init(_ url: URL) {
    self.url = url
    self.cancellable = g_cancellable_new()
  }

  deinit { g_object_unref(self.cancellable) }

  /// Sets what takes the answer, once. Call it before the question is asked; it may have been given
  /// up already.
  func expect(_ answer: @escaping @Sendable (NetworkReachability) -> Void) {
    let isOver = self.state.withLock { state in
      if case .over = state { return true }
      state = .waiting(answer)
      return false
    }
    if isOver { answer(.unknown) }
  }

  /// Answers with ``NetworkReachability/unknown``, unless there was an answer. It is not asked then.
  func giveUp() { self.finish(.unknown) }

  /// Asks. Call it once.
  ///
  /// - Parameter monitor: The monitor to ask.
  func ask(_ monitor: NetworkMonitor) {
    guard self.state.withLock({ if case .waiting = $0 { true } else { false } }) else { return }
    // GIO treats a URL without a host as one with an empty host. Only the portal uses the port, and
    // only if the URL names one.
    guard let name = self.url.host(), !name.isEmpty,
      let host = g_network_address_parse_uri(self.url.absoluteString, 0, nil)
    else { return self.finish(.unknown) }
    g_network_monitor_can_reach_async(
      monitor.pointer, host, self.cancellable, reachabilityCallback,
      Unmanaged.passRetained(self).toOpaque()
    )
    g_object_unref(UnsafeMutableRawPointer(host))
  }

  /// Ends the wait for the answer, even if the question has not been asked yet.
  func cancel() { g_cancellable_cancel(self.cancellable) }

  fileprivate func finish(_ reachability: NetworkReachability) {
    let answer = self.state.withLock { state -> (@Sendable (NetworkReachability) -> Void)? in
      defer { state = .over }
      if case .waiting(let answer) = state { return answer }
      return nil
    }
    answer?(reachability)
  }
}

private func reachabilityCallback(
  monitor: UnsafeMutablePointer<GObject>?, result: OpaquePointer?, question: gpointer?
) {
  guard let question else { return }
  var error: UnsafeMutablePointer<GError>?
  let isReachable = g_network_monitor_can_reach_finish(OpaquePointer(monitor), result, &error) != 0
  defer { g_clear_error(&error) }
  Unmanaged<ReachabilityQuestion>.fromOpaque(question).takeRetainedValue().finish(
    isReachable ? .reachable : NetworkReachability(error?.pointee)
  )
}

extension NetworkReachability {
  /// What one of GIO's errors says about a host.
  init(_ error: GError?) {
    guard let error else {
      self = .unknown
      return
    }
    switch (error.domain, error.code) {
    case (g_io_error_quark(), Int32(G_IO_ERROR_NETWORK_UNREACHABLE.rawValue)),
      (g_io_error_quark(), Int32(G_IO_ERROR_HOST_UNREACHABLE.rawValue)),
      (g_resolver_error_quark(), Int32(G_RESOLVER_ERROR_NOT_FOUND.rawValue)),
      (g_resolver_error_quark(), Int32(G_RESOLVER_ERROR_TEMPORARY_FAILURE.rawValue)):
      self = .unreachable
    default: self = .unknown
    }
  }
}
