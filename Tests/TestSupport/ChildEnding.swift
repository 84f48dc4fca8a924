import Foundation
import Query

/// The end of a child, for which a thread of its own waits, also when nobody else has the child.
final class ChildEnding: Sendable {
  /// How it ended.
  let end = Once<ChildProcess.End>()

  private let pid: pid_t

  /// Guards the number of the process, which may be another's as soon as the end was taken.
  private let isReaped = Locked(false)

  init(of pid: pid_t) {
    self.pid = pid
    Thread { self.reap() }.start()
  }

  /// Sends a signal, if the child still runs.
  func send(_ signal: Int32) {
    self.isReaped.withLock { isReaped in
      if !isReaped { kill(self.pid, signal) }
    }
  }

  private func reap() {
    // Only looks, so that signals can be sent meanwhile.
    repeat {} while waitid(P_PID, id_t(self.pid), nil, WEXITED | WNOWAIT) != 0 && errno == EINTR
    var status: Int32 = 0
    self.isReaped.withLock { isReaped in
      waitpid(self.pid, &status, 0)
      isReaped = true
    }
    // As the macros of <sys/wait.h> do, which are not imported.
    let signal = status & 0x7F
    self.end.set(signal == 0 ? .code((status >> 8) & 0xFF) : .signal(signal))
  }
}
