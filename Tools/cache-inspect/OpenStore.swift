import FoundationEssentials
import QueryInspection
import ToolSupport

extension Invocation {
  /// The store that the command line names, to look into.
  ///
  /// - Throws: `UsageError`, `InspectionError`.
  func inspection() throws -> StoreInspection {
    switch try StoreChoice(self.command) {
    case .directory(let url):
      let store = try StoreInspection(directory: url)
      if let other = store.otherHalf {
        Output.error(
          "cache-inspect: the other half of this store is in \(other.folder); "
            + "--application \(other.application) shows both")
      }
      return store
    case .application(let id): return try StoreInspection(applicationID: id)
    }
  }

  /// The store that the command line names, to change.
  ///
  /// - Throws: `UsageError`, `InspectionError`.
  func maintenance() throws -> StoreMaintenance {
    switch try StoreChoice(self.command) {
    case .directory(let url): try StoreMaintenance(directory: url)
    case .application(let id): try StoreMaintenance(applicationID: id)
    }
  }

  /// The account that the command line names; nil: all.
  var partition: String? { self.command.text(Options.partition) }

  /// The moment that ages are counted from, microseconds since 1970.
  var nowMicroseconds: Int64 { Int64(self.now.timeIntervalSince1970 * 1e6) }

  /// Prints an object, if the user wants JSON.
  ///
  /// - Returns: Whether it printed.
  /// - Throws: As `JSONPrinter.print`.
  func printed(_ value: some Encodable) throws -> Bool {
    guard let json else { return false }
    try json.print(value, to: self.output)
    return true
  }
}
