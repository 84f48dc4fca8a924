/// What a message of the journal says beside its text, each under a name that `journalctl` finds.
public enum JournalField: String, Hashable, Sendable, CaseIterable {
  /// The path of a query. It may tell what a person looked at: name it only if you want it in the
  /// journal.
  case queryPath = "QUERY_PATH"
  /// The identifier of a mutation, in lower case.
  case mutationID = "MUTATION_ID"
  /// The name that a mutation was persisted as.
  case mutationName = "MUTATION_NAME"
  /// What a mutation waits for, failed of, or is dead for.
  case mutationReason = "MUTATION_REASON"
}
