/// A durable mutation with its edits.
struct TypedEditDeclaration<Arguments: Sendable, Value: Sendable>: EditDeclaration {
  let plan: TypedMutationPlan<Arguments, Value>
  let list: OptimisticEdits<Arguments>
  let handler: MutationHandler

  func edits(of entry: OutboxEntry) -> [PlacedEdit]? {
    let arguments = try? self.plan.arguments(
      entry.arguments, version: entry.version, coder: entry.coder)
    return arguments.map(self.edits(with:))
  }

  func edits(withArguments arguments: any Sendable) -> [PlacedEdit] {
    (arguments as? Arguments).map(self.edits(with:)) ?? []
  }

  private func edits(with arguments: Arguments) -> [PlacedEdit] {
    self.list.list.compactMap { $0.place(arguments) }
  }
}
