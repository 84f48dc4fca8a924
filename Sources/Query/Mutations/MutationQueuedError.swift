public import FoundationEssentials

/// A mutation is saved and will be sent: do not save it again.
///
/// ```swift
/// do {
///   try await store.mutate(with: note)
/// } catch let queued as MutationQueuedError {
///   show("Saved. It will be sent \(queued.waitReason == .offline ? "once you are online" : "soon").")
/// }
/// ```
public struct MutationQueuedError: Error, Sendable {
  /// The mutation's identifier, from which a ticket can be made.
  public let id: UUID
  /// The key by which the server recognises a repeated mutation.
  public let idempotencyKey: String
  /// What it waits for; nil if it is due at once.
  public let waitReason: MutationWaitReason?
  /// The error of the last attempt; nil if there was no attempt.
  public let underlyingError: (any Error)?

  /// Creates an error. See the properties for what each is.
  public init(
    id: UUID,
    idempotencyKey: String,
    waitReason: MutationWaitReason?,
    underlyingError: (any Error)? = nil
  ) {
    self.id = id
    self.idempotencyKey = idempotencyKey
    self.waitReason = waitReason
    self.underlyingError = underlyingError
  }
}

extension MutationQueuedError {
  init(_ entry: OutboxEntry, underlying error: (any Error)? = nil) {
    self.init(
      id: entry.id, idempotencyKey: entry.idempotencyKey, waitReason: entry.waitReason,
      underlyingError: error ?? entry.lastError)
  }
}

extension MutationQueuedError: CustomStringConvertible {
  /// Says that it is saved, and what it waits for.
  public var description: String {
    let wait = self.waitReason.map { ", waits (\($0.rawValue))," } ?? ""
    let cause = self.underlyingError.map { " The last attempt failed: \(ErrorText.of($0))" } ?? ""
    return "The mutation \(self.id) is saved\(wait) and will be sent.\(cause)"
  }
}

extension MutationQueuedError: FinalError {}
