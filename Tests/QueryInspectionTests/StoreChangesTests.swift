import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// The tools: what a watch shows is what was written since it looked last.
@Suite struct StoreChangesTests {
  @Test func whatWasWrittenSinceTheLastLookIsShownOnce() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "1"])
    let changes = try StoreInspection(directory: URL(filePath: scratch.path)).changes()
    try await storage.set(["b": "1"])
    try await storage.set(["a": "2"])
    // It looks after a second in any case.
    let found = try changes.next(waiting: .seconds(1))
    let identities = found.compactMap { change -> String? in
      if case .entry(_, let identity, _, _) = change { identity } else { nil }
    }
    #expect(identities == ["[\"texts\",\"b\"]", "[\"texts\",\"a\"]"])
    #expect(found.count == 2)
    storage.store("a").reset()
    try await storage.flush()
    #expect(try changes.next(waiting: .seconds(1)) == [.removed(partition: "", count: 1)])
    #expect(try changes.next(waiting: .seconds(1)) == [])
    try await storage.close()
  }
}
