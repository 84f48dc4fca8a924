import Query

extension SQLiteQueryStorage {
  /// Which mutations of this partition must succeed before which, by their numbers: for each that
  /// waits, those that have not succeeded yet. They are live or dead.
  ///
  /// - Throws: `StorageError`.
  package func mutationDependencies() throws -> [Int: Set<Int>] {
    try self.requireOpen("dependencies")
    let edges = try self.mutations.database.read(self.mutations.partition) { tables in
      guard let partition = tables.partition else { return [(dependant: Int, target: Int)]() }
      return try tables.connection.rows(DependencyRow.ofPartition, partition.id) {
        (dependant: Int(try $0.integer(at: 0)), target: Int(try $0.integer(at: 1)))
      }
    }
    var dependencies = [Int: Set<Int>]()
    for edge in edges ?? [] { dependencies[edge.dependant, default: []].insert(edge.target) }
    return dependencies
  }
}
