/// Something that is wrong in a store.
package struct InspectionFinding: Hashable, Sendable {
  /// What is wrong. The names are stable.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The file belongs to another program.
    case foreignFile
    /// A newer release made the file.
    case newerFile
    /// The file cannot be read as a database of this library.
    case unreadableFile
    /// SQLite's integrity check found something.
    case integrity
    /// A row refers to one that does not exist.
    case missingReference
    /// An identity does not have the hash under which it is stored.
    case wrongHash
    /// The bytes of a value are not those that were written.
    case wrongChecksum
    /// An entry lacks pages, or has pages and should have none.
    case wrongPages
    /// Pages without an entry.
    case orphanPages
    /// The stored size of a row is not its real one.
    case wrongSize
    /// A value claims to include mutations that have not ended yet.
    case wrongMark
    /// The totals of an account are not those of its rows.
    case wrongTotals
    /// The bytes of a live, dead or ended mutation are not those that were written.
    case wrongMutation
    /// A row that cannot be read.
    case unreadableRow
    /// The stored heads of lanes are not those of the rows in the outbox.
    case wrongHeads
    /// The process that runs a mutation has exited.
    case ownerGone
    /// A lease has ended, and no process has taken the mutation back.
    case endedLease
    /// The file of a mutation in `bodies/` is missing.
    case missingBody
  }

  /// What is wrong.
  package let kind: Kind
  /// The name of the file.
  package let file: String
  /// The account; nil: it concerns none.
  package let partition: String?
  /// The row: the first digits of a hash, or the identifier of a mutation; nil: the file.
  package let subject: String?
  /// The details, in words.
  package let message: String
}

/// The progress of a check.
package struct InspectionProgress: Hashable, Sendable {
  /// The current step, in a few words.
  package let step: String
  /// How many rows have been checked in this step.
  package let done: Int
  /// How many rows there are; nil: unknown.
  package let total: Int?
}
