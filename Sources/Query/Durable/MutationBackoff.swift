/// How long a durable mutation waits after a failed attempt.
package struct MutationBackoff: Sendable {
  /// The wait after the first failure. It doubles with each.
  package var base: Duration
  /// The longest wait.
  package var maximum: Duration
  /// A number from 0 up to 1, for the jitter: clients that failed together must not come back together.
  package var random: @Sendable () -> Double

  package init(
    base: Duration = .seconds(1),
    maximum: Duration = .seconds(300),
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    self.base = base
    self.maximum = maximum
    self.random = random
  }

  /// The wait after so many failures: somewhere in the upper half of the doubled base.
  ///
  /// - Parameter failures: How many attempts have failed, 1 or more.
  package func delay(after failures: Int) -> Duration {
    var full = self.base
    for _ in 1..<max(1, failures) where full < self.maximum { full *= 2 }
    full = min(full, self.maximum)
    return full / 2 + full / 2 * self.random()
  }
}

extension QueryContext {
  /// How long durable mutations wait; a test supplies its own.
  package var mutationBackoff: MutationBackoff {
    get { self[MutationBackoffKey.self] }
    set { self[MutationBackoffKey.self] = newValue }
  }

  private enum MutationBackoffKey: Key {
    static var defaultValue: MutationBackoff { MutationBackoff() }
  }
}
