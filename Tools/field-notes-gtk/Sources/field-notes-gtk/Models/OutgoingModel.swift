import Foundation
import Observation
import Query
import QuerySQLite
import SystemNetwork

/// The way to the server: whether there is a network, and what the server has refused.
@MainActor @Observable
final class OutgoingModel {
  /// Whether the system has a network.
  private(set) var isOnline = true
  /// The writes that wait for a decision of the user, the oldest first.
  private(set) var refused = [OutboxEntry]()

  private let outbox: any MutationOutbox
  @ObservationIgnored private var tasks = [Task<Void, Never>]()

  init(_ notebook: Notebook) {
    self.outbox = notebook.storage.outbox
    let (statuses, continuation) = AsyncStream.makeStream(of: NetworkConnectionStatus.self)
    // The observer calls on a thread of its own; the stream leads over, in order.
    let subscription = SystemNetworkObserver.shared.subscribe { continuation.yield($0) }
    continuation.onTermination = { _ in subscription.cancel() }
    self.tasks = [
      Task { [weak self] in
        for await status in statuses { self?.isOnline = status == .connected }
      },
      Task { [weak self, outbox] in
        // Those of other processes, too.
        for await _ in outbox.changes {
          let refused = await Task { @concurrent in try? outbox.entries(in: .dead) }.value
          self?.refused = refused ?? []
        }
      },
    ]
  }

  /// Why the oldest one was refused, in words; nil: none was.
  var refusal: String? {
    guard let entry = self.refused.first else { return nil }
    let what = ["create-note": "A new note", "edit-note": "A change"][entry.name] ?? "A removal"
    let number = self.refused.count > 1 ? " (1 of \(self.refused.count))" : ""
    return "\(what) was refused\(number): \(entry.lastError?.text ?? "no reason was given")"
  }

  /// Sends the oldest one again.
  func retry() { self.decide { try await $0.retry($1) } }

  /// Gives the oldest one up: what it has changed is no longer shown.
  func discard() { self.decide { try await $0.discard($1) } }

  private func decide(_ body: @escaping @Sendable (any MutationOutbox, UUID) async throws -> Void) {
    guard let id = self.refused.first?.id else { return }
    let outbox = self.outbox
    // If another process has decided meanwhile, it fails, and the outbox's changes tell that.
    Task { @concurrent in try? await body(outbox, id) }
  }

  /// Ends what follows the system and the outbox.
  func close() { for task in self.tasks { task.cancel() } }
}
