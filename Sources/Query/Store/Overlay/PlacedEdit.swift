/// An edit of one mutation. The subclass holds the arguments, and ``DeclaredEdit`` what all edits of a
/// declaration share.
// @unchecked: it has constants alone, and so has its subclass.
class PlacedEdit: @unchecked Sendable {
  let target: EditTarget
  let declared: DeclaredEdit

  init(_ target: EditTarget, _ declared: DeclaredEdit) {
    (self.target, self.declared) = (target, declared)
  }

  final var path: QueryPath { self.target.path }
  /// Whether it is made in all queries under the path.
  final var isPrefix: Bool { self.declared.isPrefix }
  final var whenDead: DeadEdit { self.declared.whenDead }
}

/// An edit with its arguments.
// @unchecked: as the class above it.
final class ArgumentsEdit<Arguments: Sendable>: PlacedEdit, @unchecked Sendable {
  let arguments: Arguments

  init(_ target: EditTarget, _ declared: DeclaredEdit, _ arguments: Arguments) {
    self.arguments = arguments
    super.init(target, declared)
  }
}

/// Where edits are made: many change the same query.
final class EditTarget: Sendable {
  let path: QueryPath
  /// As a storage keeps it beside a row.
  let stored: EditedPaths?

  init(_ path: QueryPath, isPrefix: Bool) {
    self.path = path
    self.stored = EditedPaths([(path, isPrefix)])
  }
}

/// What all edits of a declaration share.
// @unchecked: it has constants and a lock alone, and its subclass constants.
class DeclaredEdit: @unchecked Sendable {
  let isPrefix: Bool
  let whenDead: DeadEdit
  let state: Any.Type
  private let lastTarget = Locked<EditTarget?>(nil)

  init(isPrefix: Bool, _ whenDead: DeadEdit, _ state: Any.Type) {
    (self.isPrefix, self.whenDead, self.state) = (isPrefix, whenDead, state)
  }

  /// The target at a path: that of the last edit if it is the same.
  final func target(at path: QueryPath) -> EditTarget {
    if let last = self.lastTarget.withLock({ $0 }), last.path == path { return last }
    let target = EditTarget(path, isPrefix: self.isPrefix)
    self.lastTarget.withLock { $0 = target }
    return target
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

/// The edits of a mutation with its arguments.
struct MutationEdits: Sendable {
  let placed: [PlacedEdit]
  /// What they were declared as, those that change no query too.
  let declared: [DeclaredEdit]

  /// The queries that the mutation changes; nil if it changes none.
  var paths: EditedPaths? {
    if self.placed.count == 1 { return self.placed[0].target.stored }
    return EditedPaths(self.placed.map { ($0.path, $0.isPrefix) })
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
