import Query

/// The mutations that a replayer can run, by name, instance and version.
struct HandlerRegistry: Sendable {
  private struct Place: Hashable {
    var name: String
    var instance: String
  }

  private struct TypeOfName {
    var type: ObjectIdentifier
    var name: String
  }

  private var types = [String: TypeOfName]()
  // The highest version first.
  private var runners = [Place: [any DurableRunner]]()

  /// Which rows they can run.
  private(set) var handlers = Set<MutationHandler>()
  /// Those of them to which the network does not matter.
  private(set) var handlersWhileOffline = Set<MutationHandler>()
  /// How many rows of a lane those send together that send more than one.
  private(set) var batchLimits = [MutationHandler: Int]()

  /// Adds a mutation, replacing an earlier one of the same name, instance and version.
  ///
  /// - Throws: ``ReplayError/nameTaken(name:typeName:)``.
  mutating func add(_ runner: any DurableRunner) throws {
    let handler = runner.handler
    let type = TypeOfName(
      type: ObjectIdentifier(runner.requestType), name: String(reflecting: runner.requestType))
    if let other = self.types[handler.name], other.type != type.type {
      throw ReplayError.nameTaken(name: handler.name, typeName: other.name)
    }
    self.types[handler.name] = type
    let place = Place(name: handler.name, instance: handler.instance)
    var runners = self.runners[place, default: []]
    runners.removeAll { $0.handler.version == handler.version }
    runners.append(runner)
    runners.sort { $0.handler.version > $1.handler.version }
    self.runners[place] = runners
    let all = self.runners.values.joined()
    self.handlers = Set(all.map(\.handler))
    self.batchLimits = Dictionary(
      uniqueKeysWithValues: all.filter { $0.batchLimit > 1 }.map { ($0.handler, $0.batchLimit) })
    self.handlersWhileOffline = Set(all.filter(\.isAttemptedWhileOffline).map(\.handler))
  }

  /// The runner of a row: the one registered for its version, else the newest that accepts it.
  func runner(for entry: OutboxEntry) -> (any DurableRunner)? {
    let runners = self.runners[Place(name: entry.name, instance: entry.instance)] ?? []
    return runners.first { $0.handler.version == entry.version }
      ?? runners.first { $0.handler.canRun(entry) }
  }
}
