/// An edit of one mutation. The subclass holds the arguments, and ``DeclaredEdit`` what all edits of a
/// declaration share.
// @unchecked: it has constants alone, and so has its subclass.
class PlacedEdit: @unchecked Sendable {
  let path: QueryPath
  let declared: DeclaredEdit

  init(_ path: QueryPath, _ declared: DeclaredEdit) {
    (self.path, self.declared) = (path, declared)
  }

  /// Whether it is made in all queries under the path.
  final var isPrefix: Bool { self.declared.isPrefix }
  final var whenDead: DeadEdit { self.declared.whenDead }
}

/// An edit with its arguments.
// @unchecked: as the class above it.
final class ArgumentsEdit<Arguments: Sendable>: PlacedEdit, @unchecked Sendable {
  let arguments: Arguments

  init(_ path: QueryPath, _ declared: DeclaredEdit, _ arguments: Arguments) {
    self.arguments = arguments
    super.init(path, declared)
  }
}

/// What all edits of a declaration share.
// @unchecked: it has constants and a lock alone, and its subclass constants.
class DeclaredEdit: @unchecked Sendable {
  let isPrefix: Bool
  let whenDead: DeadEdit
  let state: Any.Type
  /// The path of the last edit: many edits change the same query.
  private let lastPath = Locked<QueryPath?>(nil)

  init(isPrefix: Bool, _ whenDead: DeadEdit, _ state: Any.Type) {
    (self.isPrefix, self.whenDead, self.state) = (isPrefix, whenDead, state)
  }

  /// An equal path, in the memory of the last one if that is equal.
  final func sharing(_ path: QueryPath) -> QueryPath {
    self.lastPath.withLock { last in
      if let last, last == path { return last }
      last = path
      return path
    }
  }
}

/// What all edits of a declaration share, for queries with one type of state.
// @unchecked: as the class above it.
final class TypedDeclaredEdit<State: OptimisticQueryState>: DeclaredEdit, @unchecked Sendable {
  /// Makes an edit that was declared by this.
  let apply: @Sendable (PlacedEdit, inout State.StateValue, OptimisticContext) -> Void

  init(
    isPrefix: Bool, _ whenDead: DeadEdit,
    _ apply: @escaping @Sendable (PlacedEdit, inout State.StateValue, OptimisticContext) -> Void
  ) {
    self.apply = apply
    super.init(isPrefix: isPrefix, whenDead, State.self)
  }
}

/// The edits of one mutation. Most have one, which needs no array.
enum PlacedEdits: RandomAccessCollection, Sendable {
  case one(PlacedEdit)
  case many([PlacedEdit])

  init(_ edits: some Collection<PlacedEdit>) {
    if edits.count == 1, let edit = edits.first {
      self = .one(edit)
    } else {
      self = .many(Array(edits))
    }
  }

  var startIndex: Int { 0 }

  var endIndex: Int {
    switch self {
    case .one: 1
    case .many(let edits): edits.count
    }
  }

  subscript(position: Int) -> PlacedEdit {
    switch self {
    case .one(let edit): edit
    case .many(let edits): edits[position]
    }
  }
}
