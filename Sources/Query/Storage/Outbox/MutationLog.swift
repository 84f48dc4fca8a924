/// What an outbox knows of some mutations at one moment.
public struct MutationLog: Sendable {
  /// A success of a mutation that was not asked for.
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

  /// The newest end of any mutation at that moment: see ``MutationOutbox/endedSequence``.
  public var sequence: Int64

  /// The mutations that are live or dead, and those that ended after the sequence that was asked for.
  public var records: [RecordedMutation]

  /// The successes of all other mutations after that sequence, as long as the history has them.
  public var others: [Other]

  /// Creates a log. See the properties for what each is.
  public init(sequence: Int64, records: [RecordedMutation], others: [Other] = []) {
    self.sequence = sequence
    self.records = records
    self.others = others
  }
}
