/// What a context knows of the task that runs with it.
@usableFromInline
struct RunningTask: Sendable, CustomStringConvertible {
  @usableFromInline let id: QueryTaskIdentifier
  @usableFromInline let owner: (any TaskRunOwner)?

  @inlinable
  init(id: QueryTaskIdentifier, owner: (any TaskRunOwner)?) {
    self.id = id
    self.owner = owner
  }

  @usableFromInline
  var description: String { self.id.debugDescription }
}

extension QueryContext {
  /// The task that this context belongs to, set by its run; `nil` outside a run.
  @inlinable
  public var queryRunningTaskIdentifier: QueryTaskIdentifier? {
    self[RunningTaskKey.self]?.id
  }

  @usableFromInline
  enum RunningTaskKey: Key {
    @inlinable static var defaultValue: RunningTask? { nil }
  }
}
