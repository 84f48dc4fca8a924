import Foundation
import Query

// MARK: - Effects

extension OutboxWriter {
  /// Tells the cache what successes have made stale. A row's effects are cleared with some later
  /// commit; where this process dies before, the next one tells the cache again.
  func applyEffects(of partition: OutboxPartition) {
    guard let connection = self.connection, let hooks = partition.hooks else { return }
    do {
      let rows = try connection.read {
        guard let row = try OutboxPartitionRow.find(partition.name, on: connection) else {
          return [(sequence: Int64, effects: String)]()
        }
        return try connection.rows(HistoryRow.readEffects, row.id) {
          (sequence: try $0.integer(at: 0), effects: try $0.text(at: 1))
        }
      }
      let known = self.effectsInFlight.union(self.effectsDone)
      let new = rows.filter { !known.contains($0.sequence) }
      if new.isEmpty { return }
      let sequences = new.map(\.sequence)
      self.effectsInFlight.formUnion(sequences)
      hooks.invalidate(new.flatMap { OutboxEffects.prefixes(in: $0.effects) }) {
        [weak database] isWritten in
        database?.perform { $0.didApply(sequences, isWritten) }
      }
    } catch {
      self.didFail(error)
    }
  }

  private func didApply(_ sequences: [Int64], _ isWritten: Bool) {
    self.effectsInFlight.subtract(sequences)
    guard isWritten else { return }
    self.effectsDone += sequences
    if self.effectsDue == nil { self.effectsDue = .now + .seconds(1) }
  }

  /// What one transaction writes down that the cache has been told of.
  var effectsToClear: ArraySlice<Int64> { self.effectsDone.prefix(200) }

  /// Takes note that ``effectsToClear`` is written.
  func didClearEffects() {
    if self.effectsDone.isEmpty { return }
    self.effectsDone.removeFirst(self.effectsToClear.count)
    self.effectsDue = self.effectsDone.isEmpty ? nil : .now + .milliseconds(10)
  }

  /// Writes down what the cache has been told of, where no other commit has.
  func clearEffects() {
    self.effectsDue = nil
    guard !self.effectsDone.isEmpty, let connection = self.connection else { return }
    do {
      try connection.write {
        for sequence in self.effectsToClear {
          try connection.execute(HistoryRow.clearEffects, sequence)
        }
      }
      self.didClearEffects()
      self.didWrite(connection)
    } catch {
      // It is told again at the next opening.
      self.didFail(error)
    }
  }
}

/// What a success makes stale, as it is kept with it: a JSON array of the texts of paths.
enum OutboxEffects {
  /// The text of paths; nil where nothing that is stored can be under them.
  static func text(of paths: [QueryPath]) -> String? {
    let texts = paths.compactMap { try? QueryIdentity(path: $0).text }
    if texts.isEmpty { return nil }
    return (try? JSONEncoder().encode(texts)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The beginnings of the identities. What cannot be read is nothing.
  static func prefixes(in text: String) -> [IdentityPrefix] {
    let texts = try? JSONDecoder().decode([String].self, from: Data(text.utf8))
    return (texts ?? []).map { IdentityPrefix(identity: QueryIdentity(canonicalText: $0)) }
  }
}
