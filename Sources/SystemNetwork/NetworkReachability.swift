/// Whether a host can be reached, as ``SystemNetworkObserver/reachability(of:)`` found.
///
/// Like all information about the network it is a hint, and old when it arrives: only a request
/// tells.
public enum NetworkReachability: String, Hashable, Sendable {
  /// The host's name is known, and a route leads to one of its addresses. Whether a server answers
  /// there is not known: nothing is sent to it.
  case reachable
  /// There is no network, no route to any of its addresses, or its name cannot be resolved now.
  case unreachable
  /// There is no answer: the task was cancelled, the URL names no host, or the question failed for
  /// another reason.
  case unknown
}
