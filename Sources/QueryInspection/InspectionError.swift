package import Query
import QuerySQLite

/// Why a store cannot be inspected, or lacks what the caller looks for.
package enum InspectionError: Error, Hashable, Sendable {
  /// None of these folders has a file of a store, or the store lacks the wanted file.
  case noStore(folders: [String])
  /// The file belongs to another program, or is empty.
  case foreign(StorageError)
  /// A newer release made the file, at this level.
  case newer(level: Int, StorageError)
  /// The file is damaged, or not a database.
  case damaged(StorageError)
  /// The file cannot be read now: no permission, an I/O error, or other processes keep replacing
  /// it.
  case unavailable(StorageError)
  /// No account has this name; the known ones are these.
  case unknownPartition(String, known: [String])
  /// Nothing has this hash, number or identity.
  case notFound(String)
  /// Several match. The candidates, each as a line.
  case ambiguous(String, candidates: [String])
  /// A file to import is damaged, or of another kind: the line, from 1, and its fault.
  case badExport(line: Int, String)
  /// The outbox already has rows, and others cannot be added to it.
  case outboxNotEmpty(count: Int)
  /// The mutations to import are those of one account, and would be sent in the name of another.
  case otherAccount(of: String, asked: String)

  /// Converts an error of opening or reading a file.
  init(any error: any Error, operation: String) {
    if let error = error as? InspectionError {
      self = error
      return
    }
    let failure = StorageError(any: error, operation: operation)
    switch (error as? OpeningFailure)?.kind {
    case .refused: self = .foreign(failure)
    case .newer(let level): self = .newer(level: level, failure)
    case .altered, .corrupt: self = .damaged(failure)
    case .blank, .unavailable, nil:
      self = failure.isDamage ? .damaged(failure) : .unavailable(failure)
    }
  }
}

extension InspectionError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .noStore(let folders): "there is no store in \(folders.joined(separator: " or "))"
    case .foreign(let error), .newer(_, let error), .damaged(let error), .unavailable(let error):
      error.description
    case .unknownPartition(let name, let known):
      known.isEmpty
        ? "there is no partition \"\(name)\", and no other one"
        : "there is no partition \"\(name)\"; there are "
          + known.map { "\"\($0)\"" }.joined(separator: ", ")
    case .notFound(let name): "the store has no \(name)"
    case .ambiguous(let name, let candidates):
      "\(name) fits \(candidates.count): \(candidates.joined(separator: "; "))"
    case .badExport(let line, let what): "line \(line) of the export \(what); nothing was written"
    case .outboxNotEmpty(let count):
      "the outbox has \(count) mutation\(count == 1 ? "" : "s"), of all accounts together; others are "
        + "taken into an empty one alone"
    case .otherAccount(let source, let asked):
      "the mutations are those of account \"\(source)\", and would be sent as those of \"\(asked)\""
    }
  }
}
