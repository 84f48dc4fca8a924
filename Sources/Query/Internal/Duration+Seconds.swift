import FoundationEssentials

extension Duration {
  /// The longest duration that is waited for: an instant overflows beyond.
  static let longest = Duration.seconds(100 * 366 * 24 * 60 * 60)

  /// A duration of a number of seconds: none for a negative or undefined number, and at most
  /// ``longest``.
  init(clampingSeconds seconds: TimeInterval) {
    self = .seconds(min(max(0, seconds), Self.longest.seconds))
  }

  /// In seconds.
  var seconds: TimeInterval { self / .seconds(1) }
}
