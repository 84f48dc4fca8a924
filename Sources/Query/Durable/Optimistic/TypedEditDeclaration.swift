/// A durable mutation with its edits.
struct TypedEditDeclaration<Arguments: Sendable, Value: Sendable>: EditDeclaration {
  let plan: TypedMutationPlan<Arguments, Value>
  let list: OptimisticEdits<Arguments>
  let handler: MutationHandler

  var declared: [DeclaredEdit] { self.list.declared }

  func edits(of entry: OutboxEntry) -> [PlacedEdit]? {
    let arguments = try? self.plan.arguments(
      entry.arguments, version: entry.version, coder: entry.coder)
    return arguments.map { self.list.placed(with: $0).placed }
  }

  func edits(withArguments arguments: any Sendable) -> [PlacedEdit] {
    (arguments as? Arguments).map { self.list.placed(with: $0).placed } ?? []
  }
}
