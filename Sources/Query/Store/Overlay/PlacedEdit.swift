/// An edit of one mutation, with its arguments.
// @unchecked: it has constants alone, and so has its subclass.
class PlacedEdit: @unchecked Sendable {
  let path: QueryPath
  /// Whether it is made in all queries under the path.
  let isPrefix: Bool
  let whenDead: DeadEdit
  let state: Any.Type

  init(_ path: QueryPath, isPrefix: Bool, _ whenDead: DeadEdit, _ state: Any.Type) {
    (self.path, self.isPrefix, self.whenDead, self.state) = (path, isPrefix, whenDead, state)
  }
}

/// An edit of queries with one type of state.
// @unchecked: as the class above it.
final class TypedPlacedEdit<State: OptimisticQueryState>: PlacedEdit, @unchecked Sendable {
  let apply: @Sendable (inout State.StateValue, OptimisticContext) -> Void

  init(
    _ path: QueryPath,
    isPrefix: Bool,
    _ whenDead: DeadEdit,
    _ apply: @escaping @Sendable (inout State.StateValue, OptimisticContext) -> Void
  ) {
    self.apply = apply
    super.init(path, isPrefix: isPrefix, whenDead, State.self)
  }
}
