import CProbes
import FoundationEssentials
import Query

extension OutboxEvent {
  /// Tells who watches the program by its probes.
  func probe() {
    switch self {
    case .enqueued(let id): probe_enqueue(id.probeNumber)
    case .claimed(let id): probe_claim(id.probeNumber)
    case .pending(let id): Self.settle(id, "pending")
    case .succeeded(let id): Self.settle(id, "succeeded")
    case .cancelled(let id): Self.settle(id, "cancelled")
    case .superseded(let id, _): Self.settle(id, "superseded")
    case .discarded(let id): Self.settle(id, "discarded")
    case .dead(let id, let reason):
      Self.withStaticText(reason.probeText) { probe_dead(id.probeNumber, $0) }
    case .changedByAnotherProcess, .reaped, .released, .erased: break
    }
  }

  private static func settle(_ id: UUID, _ outcome: StaticString) {
    Self.withStaticText(outcome) { probe_settle(id.probeNumber, $0) }
  }

  private static func withStaticText(_ text: StaticString, _ body: (UnsafePointer<CChar>) -> Void) {
    text.utf8Start.withMemoryRebound(to: CChar.self, capacity: text.utf8CodeUnitCount + 1, body)
  }
}

extension MutationDeadReason {
  /// Its raw value, for as long as the program runs.
  fileprivate var probeText: StaticString {
    switch self {
    case .rejected: "rejected"
    case .exhausted: "exhausted"
    case .expired: "expired"
    case .crashLoop: "crashLoop"
    case .undecodable: "undecodable"
    case .conflict: "conflict"
    case .dependency: "dependency"
    }
  }
}
