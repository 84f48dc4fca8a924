import Foundation

/// Whether somebody has asked the bench to end. The signals are blocked and looked for, so that no
/// handler runs in between.
enum EndSignal {
  private static var signals: sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGHUP)
    return signals
  }

  /// Blocks them, for this thread and all that are made later.
  static func block() {
    var signals = self.signals
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Takes one that has come.
  static func hasCome() -> Bool {
    var signals = self.signals
    var none = timespec()
    return sigtimedwait(&signals, nil, &none) > 0
  }
}

/// Somebody has asked the bench to end.
struct Interrupted: Error {}
