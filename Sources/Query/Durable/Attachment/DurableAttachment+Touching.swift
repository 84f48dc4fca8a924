import FoundationEssentials

extension DurableAttachment: TouchingStore {
  func touching(_ path: QueryPath) -> TouchingMutations? {
    guard let invalidates = self.plan.options.invalidates, let store = self.store,
      case .success(let ground) = self.ground
    else { return nil }
    let ids = store.state.history.compactMap { entry -> UUID? in
      guard entry.isQueued else { return nil }
      return invalidates(entry.arguments).contains { $0.isPrefix(of: path) }
        ? entry.mutationID : nil
    }
    return ids.isEmpty ? nil : TouchingMutations(outbox: ground.outbox, ids: ids)
  }
}
