import Testing

@testable import QueryInspection

/// The lines of an export have the columns of the schema.
@Suite struct ExportSchemaTests {
  private static func columns(
    _ table: KeyPath<ExportSchema, ExportTable>
  ) throws -> [String] {
    try ExportSchema.current.get()[keyPath: table].columns.map { column in
      "\(column.name) \(column.kind)\(column.isOptional ? "?" : "")"
    }
  }

  @Test func aMutationIsExportedWithoutItsLease() throws {
    #expect(
      try Self.columns(\.mutation) == [
        "number integer", "id identifier", "idempotencyKey text", "name text", "instance text",
        "version integer", "lane text?", "host text?", "onFailure text", "maxAttempts integer?",
        "maxAge integer?", "coalesce text", "priority integer", "createdAt integer",
        "ageAt integer",
        "ageBoottime integer", "ageBootID text", "ageIsSynchronised integer", "state text",
        "waitReason text?", "deadReason text?", "attempts integer", "failures integer",
        "unknownFailures integer", "unknownAt integer?", "unknownBoottime integer?",
        "unknownBootID text?", "unknownIsSynchronised integer",
        "crashCount integer", "maybeApplied integer", "awaitedAlias text?",
        "credentialsEpoch integer", "isCancelRequested integer", "dueAt integer?",
        "dueBoottime integer?", "dueBootID text?", "dueDelay integer?", "leaseToken integer",
        "lastFailure text?", "failedAt integer?", "lastErrorType text?", "lastErrorText text?",
        "editedPaths text?", "coder text", "bodyFile text?", "checksum bytes", "arguments bytes",
      ])
  }

  @Test func anEndedMutationIsExportedWithoutItsSequence() throws {
    #expect(
      try Self.columns(\.ended) == [
        "id identifier", "number integer", "idempotencyKey text", "name text", "instance text",
        "version integer", "lane text?", "outcome text", "successor identifier?",
        "attempts integer", "maybeApplied integer", "createdAt integer", "startedAt integer?",
        "endedAt integer", "errorType text?", "errorText text?", "effects text?",
        "editedPaths text?", "byteCount integer", "coder text", "checksum bytes", "arguments bytes",
        "result bytes?",
      ])
  }

  @Test func whatBelongsToMutationsIsExportedWithoutNumbersOfTheFile() throws {
    #expect(
      try Self.columns(\.attempt) == [
        "mutation identifier", "number integer", "owner text", "startedAt integer",
        "endedAt integer?", "class text?", "code integer?", "errorType text?", "errorText text?",
        "idempotencyKey text?", "arguments bytes?", "response bytes?",
      ])
    #expect(try Self.columns(\.dependency) == ["dependant integer", "target integer"])
    #expect(
      try Self.columns(\.alias) == [
        "alias text", "value text", "publisher identifier", "publishedAt integer",
        "newestNumber integer",
      ])
    #expect(
      try Self.columns(\.forgotten) == [
        "id identifier", "sequence integer", "outcome text", "successor identifier?",
        "endedAt integer",
      ])
    #expect(try Self.columns(\.pause) == ["part text", "value text", "pausedAt integer"])
  }
}
