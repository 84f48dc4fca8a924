/// Takes what a server says of the mutations that its answer includes, for edits that must not be made
/// twice, such as a count that grows.
///
/// ```swift
/// func fetch(in context: QueryContext, with continuation: …) async throws -> Counters {
///   let answer = try await load()
///   context.fetchReceipt?.includes(keys: answer.includedKeys)
///   return answer.counters
/// }
/// ```
/// The keys are stored with the value. A server names those of the last days, not all that it has ever
/// seen.
public final class FetchReceipt: Sendable {
  /// Nil: nothing was said.
  private let named = Locked(Set<String>?.none)

  init() {}

  /// Records that the answer includes mutations: their edits are not laid over it, live or not.
  ///
  /// - Parameter keys: Their idempotency keys; none if it includes none. A server that names them says
  ///   so, too: without it, what is acknowledged becomes a part of the stored value.
  public func includes(keys: [String]) {
    self.named.withLock { $0 = ($0 ?? []).union(keys) }
  }

  var keys: Set<String>? { self.named.withLock { $0 } }
}

extension QueryContext {
  /// Takes the keys of the mutations that the answer of this fetch includes; nil outside the fetch of
  /// a store.
  public var fetchReceipt: FetchReceipt? {
    self.fetchWork?.ownReceipt()
  }
}
