import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - Paradigms of one's own

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aStateOfOnesOwnIsPersistedLikeOthers(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let date = device.clock.now()
    try await device.run { client in
      let store = client.store(for: TallyQuery().persisted(), initialState: TallyState())
      try await store.fetch()
      try await store.fetch()
      store.setResult(to: .failure(TestError("tally")))
      #expect(store.currentValue == ["one", "one"])
    }
    let store = device.client().store(for: TallyQuery().persisted(), initialState: TallyState())
    #expect(store.currentValue == ["one", "one"])
    #expect(store.valueUpdateCount == 2)
    #expect(store.error as? RestoredError == RestoredError(TestError("tally")))
    let stored = try #require(store.valueLastUpdatedAt)
    #expect(abs(stored.timeIntervalSince(date)) < 0.000_002)
    #expect(store.origin == .storage(storedAt: stored))
    try await store.fetch()
    try await device.relaunch()
    let again = device.client().store(for: TallyQuery().persisted(), initialState: TallyState())
    #expect(again.currentValue == ["one", "one", "one"])
    again.reset()
    try await device.relaunch()
    #expect(device.storage.statistics.entries == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func itsEntryIsNotReadByAnotherKind(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: TallyQuery().persisted(), initialState: TallyState())
      store.currentValue = ["x"]
    }
    let query = StoredQuery(["tally"]) { [""] }
    #expect(device.client().store(for: query.persisted()).currentValue == nil)
    try await device.storage.flush()
    #expect(device.storage.statistics.quarantined == 1)
  }
}

/// A query whose state adds up what is fetched.
private struct TallyQuery: QueryRequest {
  typealias State = TallyState
  typealias Value = String

  let path: QueryPath = ["tally"]

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    "one"
  }
}

/// The smallest state that can be persisted: it cannot be invalidated.
private struct TallyState: PersistableQueryState {
  typealias StateValue = [String]
  typealias QueryValue = String
  typealias StatusValue = [String]

  var currentValue = [String]()
  let initialValue = [String]()
  var valueUpdateCount = 0
  var valueLastUpdatedAt: Date?
  var error: (any Error)?
  var errorUpdateCount = 0
  var errorLastUpdatedAt: Date?
  private var tasks = 0

  var isLoading: Bool { self.tasks > 0 }

  init() {}

  mutating func scheduleFetchTask(_ task: inout QueryTask<String>) { self.tasks += 1 }

  mutating func finishFetchTask(_ task: QueryTask<String>) { self.tasks -= 1 }

  mutating func reset(using context: QueryContext) { self = Self() }

  mutating func update(with result: Result<[String], any Error>, using context: QueryContext) {
    switch result {
    case .success(let value):
      self.currentValue = value
      self.valueUpdateCount += 1
      self.valueLastUpdatedAt = context.queryClock.now()
      self.error = nil
    case .failure(let error):
      self.error = error
      self.errorUpdateCount += 1
      self.errorLastUpdatedAt = context.queryClock.now()
    }
  }

  mutating func update(
    with result: Result<String, any Error>,
    for task: QueryTask<String>
  ) {
    self.update(with: result.map { self.currentValue + [$0] }, using: task.context)
  }

  var persistedValue: [String]? { self.valueUpdateCount > 0 ? self.currentValue : nil }

  mutating func restore(_ value: [String]?, history: UpdateHistory) {
    self.currentValue = value ?? self.initialValue
    self.valueUpdateCount = history.valueUpdateCount
    self.valueLastUpdatedAt = history.valueLastUpdatedAt
    self.error = history.error
    self.errorUpdateCount = history.errorUpdateCount
    self.errorLastUpdatedAt = history.errorLastUpdatedAt
  }
}
