/// What an outbox knows of some mutations at one moment.
public struct MutationLog: Sendable {
  /// The newest end of any mutation at that moment: see ``MutationOutbox/endedSequence``.
  public var sequence: Int64

  /// The mutations that are live or dead, and those that ended after the sequence that was asked for.
  public var records: [RecordedMutation]

  /// Creates a log. See the properties for what each is.
  public init(sequence: Int64, records: [RecordedMutation]) {
    self.sequence = sequence
    self.records = records
  }
}
