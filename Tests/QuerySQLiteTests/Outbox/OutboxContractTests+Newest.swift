import Foundation
import Query
import Testing

// MARK: - The newest

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func theNewestOfAMutationAreTheEndOfItsHistory(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<12 {
      ids.append(try await trial.add())
      try await trial.add("other")
    }
    for index in [0, 3, 10] { try await trial.run(ids[index], .success) }
    try await trial.run(ids[11], .rejection)
    let all = try trial.outbox.history(of: "note", instance: "instance")
    #expect(all.map(\.id) == ids)
    for limit in [0, 1, 2, 5, 11, 12, 13, 1_000] {
      let newest = try trial.outbox.history(of: "note", instance: "instance", newest: limit)
      #expect(newest == Array(all.suffix(limit)))
    }
    #expect(try trial.outbox.history(of: "note", instance: "none", newest: 5).isEmpty)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func standingsAreThoseOfEachInOrder(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    #expect(try trial.outbox.standings(of: []).isEmpty)
    #expect("\(try trial.outbox.standings(of: [UUID()]))" == "\([MutationStanding.unknown])")
    var ids = [UUID]()
    for _ in 0..<4 { ids.append(try await trial.add()) }
    try await trial.run(ids[0], .success)
    try await trial.run(ids[1], .rejection)
    _ = try await trial.lease(ids[2])
    ids.insert(UUID(), at: 2)
    ids.reverse()
    let each = try ids.map { try trial.outbox.standing(of: $0) }
    #expect("\(try trial.outbox.standings(of: ids))" == "\(each)")
  }
}
