import Foundation
import Query
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §11: what an error shows.
@Suite(.warningsAreIssues) struct ShownErrorsTests {
  private static let secret = "SECRET-OF-A-USER"

  /// The error of a write that a trigger refuses.
  private static func refusedWrite(revealing: Bool) async throws -> StorageError {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.revealsBoundValues = revealing }
    let connection = try scratch.connection()
    try connection.write {
      _ = try connection.rowsOfText(
        "CREATE TRIGGER refuse BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'refused'); END")
    }
    let store = storage.store(Self.secret)
    store.currentValue = Self.secret
    let error = await storageError { try await storage.flush() }
    #expect(storage.statistics.isDegraded)
    try connection.write { _ = try connection.rowsOfText("DROP TRIGGER refuse") }
    try connection.close()
    try await storage.flush()
    #expect(!storage.statistics.isDegraded)
    #expect(await storage.text(Self.secret) == Self.secret)
    try await storage.close()
    return try #require(error)
  }

  @Test func anErrorNamesOperationCodesMessageStatementAndFile() async throws {
    let error = try await Self.refusedWrite(revealing: false)
    #expect(!error.operation.isEmpty)
    #expect(error.code.rawValue == 19)
    #expect(error.extendedCode.rawValue == 1_811)
    #expect(error.message == "refused")
    #expect(error.sql?.contains("INSERT INTO entries") == true)
    #expect(error.fileName == "cache.sqlite")
  }

  @Test func boundValuesAreNotShown() async throws {
    let error = try await Self.refusedWrite(revealing: false)
    #expect(error.expandedSQL == nil)
    #expect(error.sql?.contains(Self.secret) == false)
    #expect(!"\(error)".contains(Self.secret))
    #expect(!error.localizedDescription.contains(Self.secret))
  }

  @Test func boundValuesAreShownWhereTheConfigurationAsksForIt() async throws {
    let error = try await Self.refusedWrite(revealing: true)
    #expect(error.expandedSQL?.contains(Self.secret) == true)
    #expect(error.sql?.contains(Self.secret) == false)
  }

  @Test func useAfterClosingNamesTheFile() async throws {
    let storage = try StorageScratch().storage()
    try await storage.close()
    let errors = [
      await storageError { try await storage.flush() },
      await storageError { try await storage.erase() },
      await storageError { try await storage.prefetch(matching: []) },
    ]
    for error in errors {
      #expect(error?.code == .misuse)
      #expect(error?.fileName == "cache.sqlite")
      #expect(error?.message == "the storage is closed")
    }
    #expect(errors.map { $0?.operation } == ["flush", "erase", "prefetch"])
  }
}
