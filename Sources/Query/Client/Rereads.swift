import FoundationEssentials

/// Reads again what another process has changed: at once, and then, if it goes on changing things,
/// after a pause for all that came meanwhile.
///
/// A process that drains an outbox commits thousands of times a second; one that only shows it must
/// not read as often.
final class Rereads: Sendable {
  private enum Phase {
    case idle
    /// A read, or the pause after it.
    case busy
    /// The same, and something has changed since the read began.
    case outdated
  }

  private let phase = Locked(Phase.idle)
  private let pause: @Sendable () async -> Void

  /// - Parameter pause: Waits after a read.
  init(_ pause: @escaping @Sendable () async -> Void) { self.pause = pause }

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
      repeat {
        read()
        await self.pause()
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
  /// Waits between two reads of what another process changes in the outbox. A tenth of a second by
  /// default.
  var outboxRereadPause: @Sendable () async -> Void {
    get { self[OutboxRereadPauseKey.self] }
    set { self[OutboxRereadPauseKey.self] = newValue }
  }

  private enum OutboxRereadPauseKey: Key {
    static var defaultValue: @Sendable () async -> Void {
      { try? await Task.sleep(for: .milliseconds(100)) }
    }
  }
}
