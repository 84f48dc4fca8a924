import Foundation
import Query
import QueryReplay
import SystemJournal
import ToolSupport

/// The line that a run prints for an event.
struct RunLine {
  /// An event as JSON.
  struct Row: Encodable {
    var event: String
    var time = Date()
    var id: String?
    var name: String?
    var attempt: Int?
    /// The class of a failure, why a mutation is dead, or what the run waits for.
    var reason: String?
    /// What it failed with.
    var error: String?
    /// What a mutation that will be tried again waits for.
    var next: String?
  }

  /// The event.
  private(set) var row: Row
  /// In words, safe for a terminal.
  private(set) var text: String
  /// Whether it stays on a terminal, above the bar.
  private(set) var isKept = false

  /// - Parameters:
  ///   - event: The event.
  ///   - session: The store.
  ///   - names: The names of running mutations: once they have ended, the outbox no longer knows
  ///     them.
  /// - Returns: nil if there is nothing to print.
  init?(_ event: ReplayEvent, _ session: ReplaySession, names: inout [UUID: String]) {
    func line(
      _ name: String, _ words: String, _ id: UUID, isEnd: Bool = false
    ) -> (Row, String) {
      let known = names[id] ?? (try? session.outbox.entry(id))?.name
      names[id] = isEnd ? nil : known
      let identifier = MutationJSON.text(id)
      let row = Row(event: name, id: identifier, name: known)
      return (row, "\(words) \(identifier) \(SafeText.escape(known ?? ""))")
    }
    switch event {
    case .claimed(let id):
      names[id] = (try? session.outbox.entry(id))?.name
      return nil
    case .reaped, .cancelled, .enqueued, .attemptEnded, .progress, .unhandled, .dropped:
      return nil
    case .attemptStarted(let id, let number):
      (self.row, self.text) = line("attemptStarted", "sending", id)
      self.row.attempt = number
    case .attemptFailed(let id, let failure, let next):
      (self.row, self.text) = line("attemptFailed", "failed", id)
      (self.row.reason, self.row.next) = (failure.word, next?.rawValue)
      self.text += ": \(failure.word)" + (next.map { ", waits (\($0.rawValue))" } ?? "")
      self.tell(session.lastError(of: id))
    case .succeeded(let id):
      (self.row, self.text) = line("succeeded", "sent", id, isEnd: true)
    case .superseded(let id, _):
      (self.row, self.text) = line("superseded", "superseded", id, isEnd: true)
    case .dead(let id, let reason):
      (self.row, self.text) = line("dead", "dead", id, isEnd: true)
      self.row.reason = reason.rawValue
      self.text += ": \(reason.rawValue)"
      self.tell(session.lastError(of: id))
    case .leaseLost(let id):
      (self.row, self.text) = line("leaseLost", "lost", id, isEnd: true)
    case .waiting(let wait):
      self.row = Row(event: "waiting", reason: wait.word)
      self.text = "waiting for \(wait.words)"
    case .drained:
      self.row = Row(event: "drained")
      self.text = "nothing is left to send"
    }
  }
}

extension RunLine {
  /// The importance of the line for readers of the journal.
  var level: QueryLogLevel {
    switch self.row.event {
    case "dead": .error
    case "attemptFailed", "leaseLost": .warning
    default: .info
    }
  }

  /// What the journal finds it by.
  var fields: [JournalField: String] {
    var fields = [JournalField: String]()
    fields[.mutationID] = self.row.id
    fields[.mutationName] = self.row.name
    fields[.mutationReason] = self.row.reason
    return fields
  }

  /// Adds the error, which stays on the terminal longer than the next event.
  private mutating func tell(_ error: String?) {
    self.isKept = true
    self.row.error = error
    if let error { self.text += ": \(SafeText.escape(error))" }
  }
}

extension ReplaySession {
  /// The error of a mutation's last attempt.
  fileprivate func lastError(of id: UUID) -> String? {
    (try? self.outbox.entry(id))?.lastError?.text
  }
}

extension ReplayWait {
  fileprivate var word: String {
    switch self {
    case .network: "network"
    case .outbox: "outbox"
    case .storage: "storage"
    }
  }

  fileprivate var words: String {
    switch self {
    case .network: "the network"
    case .outbox: "what is due later"
    case .storage(let error): "the storage: \(SafeText.escape(error.text))"
    }
  }
}
