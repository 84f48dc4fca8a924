public import FoundationEssentials

/// The state of some mutations of an outbox at one moment.
public struct MutationLog: Sendable {
  /// A success of a mutation that was not among those asked about.
  public struct Other: Hashable, Sendable {
    /// Its place in the order of ends.
    public let sequence: Int64
    /// The name that it was persisted as.
    public let name: String
    /// What its request itself held.
    public let instance: String

    /// Creates a success. See the properties for what each is.
    public init(sequence: Int64, name: String, instance: String) {
      (self.sequence, self.name, self.instance) = (sequence, name, instance)
    }
  }

  /// A waiting or running mutation with edits that was not among those asked about.
  public struct Unknown: Hashable, Sendable {
    /// Its identifier.
    public let id: UUID
    /// Which queries it changes.
    public let editedPaths: EditedPaths

    /// Creates one. See the properties for what each is.
    public init(id: UUID, editedPaths: EditedPaths) {
      (self.id, self.editedPaths) = (id, editedPaths)
    }
  }

  /// The newest end of any mutation at that moment: see ``MutationOutbox/endedSequence``.
  public var sequence: Int64

  /// The live and dead mutations, and those that ended after the given sequence.
  public var records: [RecordedMutation]

  /// The successes of all other mutations after that sequence, as long as the history has them.
  public var others: [Other]

  /// All other waiting or running mutations with edits; if very many have one name, only the first of them.
  public var unknown: [Unknown]

  /// Creates a log. See the properties for what each is.
  public init(
    sequence: Int64, records: [RecordedMutation], others: [Other] = [], unknown: [Unknown] = []
  ) {
    self.sequence = sequence
    self.records = records
    self.others = others
    self.unknown = unknown
  }
}
