public import FoundationEssentials

/// A durable mutation that is committed, as the task and the history of its attempt know it.
@usableFromInline
protocol AdmittedAttempt: AnyObject, Sendable {
  /// The mutation's identifier.
  var id: UUID { get }
  /// Its number in the order of enqueueing.
  var number: Int { get }
  /// What the server tells two sendings of the mutation by.
  var idempotencyKey: String { get }
  /// Whether the history may have an entry for the mutation.
  var isOld: Bool { get }
  /// Lets another attempt be made, if this one has ended without having begun: what is kept of its task may
  /// live for long.
  func giveBack()
}

extension QueryContext {
  /// The mutation that is committed already for the attempt with this context.
  @usableFromInline
  var admittedAttempt: (any AdmittedAttempt)? {
    get { self[AdmittedAttemptKey.self] }
    set { self[AdmittedAttemptKey.self] = newValue }
  }

  @usableFromInline
  enum AdmittedAttemptKey: Key {
    @inlinable static var defaultValue: (any AdmittedAttempt)? { nil }
  }
}
