/// Something that is wrong in a store.
package struct InspectionFinding: Hashable, Sendable {
  /// What is wrong. The names are stable.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The file is another program's.
    case foreignFile
    /// A newer release has made the file.
    case newerFile
    /// The file cannot be read as a database of this library.
    case unreadableFile
    /// SQLite's own check of the structure says something.
    case integrity
    /// A row names another one that is not there.
    case missingReference
    /// An identity that does not have the hash that it is stored under.
    case wrongHash
    /// Bytes of a value that are not those that were written.
    case wrongChecksum
    /// An entry whose pages are missing, or that has pages and should have none.
    case wrongPages
    /// Pages of no entry.
    case orphanPages
    /// A row that is counted with other bytes than it has.
    case wrongSize
    /// An account whose totals are not those of its rows.
    case wrongTotals
    /// A mutation or an ended one whose bytes are not those that were written.
    case wrongMutation
    /// A row that cannot be read.
    case unreadableRow
    /// The heads of lanes are not those that the outbox has.
    case wrongHeads
    /// The process that runs a mutation is gone.
    case ownerGone
    /// A lease that ended, and that nobody has taken back.
    case endedLease
    /// A mutation whose file in `bodies/` is missing.
    case missingBody
  }

  /// What is wrong.
  package let kind: Kind
  /// The name of the file.
  package let file: String
  /// The account; nil: it is of none.
  package let partition: String?
  /// Which row: the first digits of a hash, or the identifier of a mutation; nil: the file.
  package let subject: String?
  /// More of it, in words.
  package let message: String
}

/// How far a check has come.
package struct InspectionProgress: Hashable, Sendable {
  /// What is being checked, in a few words.
  package let step: String
  /// How many rows were checked in this step.
  package let done: Int
  /// How many there are; nil: not known.
  package let total: Int?
}
