/// The context with which the tasks of a store begin: kept from one task to the next, since each is to have the same.
@usableFromInline
struct TaskContext {
  @usableFromInline let name: TaskNames.Kind
  /// The context of the store.
  @usableFromInline let base: QueryContext
  @usableFromInline let context: QueryContext

  @inlinable
  init(name: TaskNames.Kind, base: QueryContext, context: QueryContext) {
    (self.name, self.base, self.context) = (name, base, context)
  }
}

extension QueryStore {
  /// A context that belongs to this store, with a name for a task that has none. The caller holds the lock.
  @inlinable
  func taskContext(of context: QueryContext, name: TaskNames.Kind) -> QueryContext {
    if let known = self.knownTaskContext, known.name == name, known.base.isIdentical(to: context) {
      return known.context
    }
    var new = context
    new[QueryContext.CurrentStoreKey.self] = self.ownReference()
    new[QueryContext.DefaultTaskNameKey.self] = self.ownTaskNames()[name]
    // That of the event which the caller has the context from.
    if new.queryResultUpdateReason != nil { new.queryResultUpdateReason = nil }
    // That of a single call would be kept in vain. Replacing another one frees no user's value: its base is the same.
    if context.isIdentical(to: self._context) {
      self.knownTaskContext = TaskContext(name: name, base: context, context: new)
    }
    return new
  }
}
