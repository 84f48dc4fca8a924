extension MutationRequest {
  /// Shows what a durable mutation will change, from the moment it is on disk, in every process and after
  /// every restart, until a value arrives that includes the change.
  ///
  /// ```swift
  /// let create = CreateNote().persisted(as: "create-note")
  ///   .optimistic(on: { NotesQuery(folder: $0.folder).persisted() }) { notes, note, edit in
  ///     notes.upsert(Note(id: note.id, text: note.text, isSent: edit.standing == .acknowledged))
  ///   }
  /// try client.register(create)   // before the first store is made
  /// ```
  /// This is right if the server's reads see the writes that it has acknowledged, and if the edit is
  /// idempotent: it replaces by identifier, sets a field, or removes by identifier. In other cases the
  /// server must name the mutations that an answer includes: see ``FetchReceipt``.
  ///
  /// Several may follow one another, on other queries or on the same one.
  ///
  /// - Parameters:
  ///   - target: The query that a mutation with these arguments changes; its path determines the store. Nil:
  ///     none.
  ///   - whenDead: What becomes of the edit while the mutation is dead.
  ///   - edit: Changes the value. It is called often, on any thread, and must do nothing else.
  public func optimistic<Target: QueryRequest>(
    on target: @escaping @Sendable (Arguments) -> Target?,
    whenDead: DeadEdit = .dropped,
    _ edit:
      @escaping @Sendable (inout Target.State.StateValue, Arguments, OptimisticContext) -> Void
  ) -> ModifiedQuery<Self, _OptimisticModifier<Self, Target>>
  where Target.State: OptimisticQueryState {
    self.modifier(
      _OptimisticModifier(
        edit: .of(Target.State.self, isPrefix: false, whenDead, { target($0)?.path }, edit)))
  }

  /// Shows what a durable mutation will change in all queries under a path.
  ///
  /// See ``optimistic(on:whenDead:_:)``.
  ///
  /// - Parameters:
  ///   - path: The beginning of the paths of the queries, by the arguments.
  ///   - state: The state of these queries; others under the path are left alone.
  ///   - whenDead: What becomes of the edit while the mutation is dead.
  ///   - edit: Changes the value of each.
  public func optimistic<S: OptimisticQueryState>(
    under path: @escaping @Sendable (Arguments) -> QueryPath,
    of state: S.Type,
    whenDead: DeadEdit = .dropped,
    _ edit: @escaping @Sendable (inout S.StateValue, Arguments, OptimisticContext) -> Void
  ) -> ModifiedQuery<Self, _OptimisticModifier<Self, _AnyTarget<S>>> {
    self.modifier(
      _OptimisticModifier(edit: .of(S.self, isPrefix: true, whenDead, path, edit)))
  }
}

/// Stands for all queries of a state in the type of a modifier. There is no value of it.
public enum _AnyTarget<State: OptimisticQueryState> {}

public struct _OptimisticModifier<Query: MutationRequest, Target>: QueryModifier {
  let edit: OptimisticEdit<Query.Arguments>

  public func setup(context: inout QueryContext, using query: Query) {
    query.setup(context: &context)
    var edits = context.optimisticEdits as? OptimisticEdits<Query.Arguments> ?? OptimisticEdits()
    // Those inside were set up before.
    edits.append(self.edit)
    context.optimisticEdits = edits
  }

  public func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await query.fetch(in: context, with: continuation)
  }
}

extension QueryContext {
  /// The edits that a mutation declares, an ``OptimisticEdits``; nil if it declares none.
  var optimisticEdits: (any Sendable)? {
    get { self[OptimisticEditsKey.self] }
    set { self[OptimisticEditsKey.self] = newValue }
  }

  enum OptimisticEditsKey: Key {
    static var defaultValue: (any Sendable)? { nil }
  }
}

/// The edits that a mutation declares, in the order in which they are made.
struct OptimisticEdits<Arguments: Sendable>: Sendable {
  private var list = [OptimisticEdit<Arguments>]()
  private(set) var declared = [DeclaredEdit]()

  var isEmpty: Bool { self.list.isEmpty }

  mutating func append(_ edit: OptimisticEdit<Arguments>) {
    self.list.append(edit)
    self.declared.append(edit.declared)
  }

  /// The edits of a mutation.
  func placed(with arguments: Arguments) -> MutationEdits {
    var placed = [PlacedEdit]()
    // By number: in generic code a loop over a collection costs more than what it does.
    var index = 0
    while index < self.list.count {
      if let edit = self.list[index].place(arguments) { placed.append(edit) }
      index += 1
    }
    return MutationEdits(placed: placed, declared: self.declared)
  }
}

/// One of them: where it is made is known with the arguments.
struct OptimisticEdit<Arguments: Sendable>: Sendable {
  let declared: DeclaredEdit
  let place: @Sendable (Arguments) -> PlacedEdit?

  static func of<State: OptimisticQueryState>(
    _: State.Type,
    isPrefix: Bool,
    _ whenDead: DeadEdit,
    _ path: @escaping @Sendable (Arguments) -> QueryPath?,
    _ edit: @escaping @Sendable (inout State.StateValue, Arguments, OptimisticContext) -> Void
  ) -> Self {
    let declared = TypedDeclaredEdit<State>(isPrefix: isPrefix, whenDead) {
      placed, value, context in
      let placed = unsafeDowncast(placed, to: ArgumentsEdit<Arguments>.self)
      edit(&value, placed.arguments, context)
    }
    return Self(declared: declared) { arguments in
      path(arguments).map { ArgumentsEdit(declared.target(at: $0), declared, arguments) }
    }
  }
}
