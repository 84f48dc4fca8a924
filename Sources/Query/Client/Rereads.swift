import FoundationEssentials

/// Reads again what another process has changed: at once, and then, if it goes on changing things,
/// after a pause for all that came meanwhile.
///
/// A process that drains an outbox commits thousands of times a second; one that only shows it must
/// not read as often. The pauses of a burst grow, so that the few changes of one mutation are shown as
/// they come.
final class Rereads: Sendable {
  private enum Phase {
    case idle
    /// A read, or the pause after it.
    case busy
    /// The same, and something has changed since the read began.
    case outdated
  }

  private let phase = Locked(Phase.idle)
  private let pause: Pause

  /// Waits after a read, which is the first, the second and so on of a burst.
  typealias Pause = @Sendable (_ read: Int) async -> Void

  init(_ pause: @escaping Pause) { self.pause = pause }

  /// How long to wait after a read of a burst: a tenth of a second, and less after the first ones.
  static func pause(after read: Int) -> Duration {
    .milliseconds(min(100, 10 << min(read - 1, 4)))
  }

  /// Whether nothing was requested since the last read and the pause after it.
  var isIdle: Bool { self.phase.withLock { $0 == .idle } }

  /// Reads soon, on another thread than that of the caller, which must not be kept from its commits.
  func request(_ read: @escaping @Sendable () -> Void) {
    let isFirst = self.phase.withLock { phase in
      defer { phase = phase == .idle ? .busy : .outdated }
      return phase == .idle
    }
    guard isFirst else { return }
    Task {
      var count = 0
      repeat {
        read()
        count += 1
        await self.pause(count)
      } while self.isOutdated()
    }
  }

  /// Whether another read is due. If not, the next request begins anew.
  private func isOutdated() -> Bool {
    self.phase.withLock { phase in
      defer { phase = phase == .outdated ? .busy : .idle }
      return phase == .outdated
    }
  }
}

extension QueryContext {
  /// Waits between two reads of what another process changes in the outbox.
  var outboxRereadPause: Rereads.Pause {
    get { self[OutboxRereadPauseKey.self] }
    set { self[OutboxRereadPauseKey.self] = newValue }
  }

  private enum OutboxRereadPauseKey: Key {
    static var defaultValue: Rereads.Pause {
      { try? await Task.sleep(for: Rereads.pause(after: $0)) }
    }
  }
}
