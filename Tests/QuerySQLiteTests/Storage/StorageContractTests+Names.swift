import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

// MARK: - Names on disk

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aNameFindsWhatAnotherTypeOfTheSameContentHasStored(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      for id in 1...2 {
        client.store(for: Post(id: id).persisted(as: "post")).currentValue = "post \(id)"
      }
    }
    let client = device.client()
    for id in 1...2 {
      let moved = client.store(for: Moved.Article(id: id).persisted(as: "post"))
      #expect(moved.currentValue == "post \(id)")
    }
    #expect(client.store(for: Post(id: 3).persisted(as: "post")).currentValue == nil)
    let other = QueryClient(storage: device.storage)
    #expect(other.store(for: Post(id: 1).persisted(as: "article")).currentValue == nil)
    #expect(device.storage.statistics.entries == 2)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aNameChangesThePathOfNoStoreAndIsTheIdentityOfNoPath(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let named = StoredQuery(["posts", 3]) { 1 }.persisted(as: "post")
    #expect(named.path == ["posts", 3])
    try await device.run { client in client.store(for: named).currentValue = 5 }
    let client = device.client()
    let paths: [QueryPath] = [["posts", 3], ["post", "posts", 3], ["posts", 3, "post"]]
    for path in paths {
      #expect(client.store(for: StoredQuery(path) { 0 }.persisted()).currentValue == nil, "\(path)")
    }
    #expect(device.client().store(for: named).currentValue == 5)
    let text = #"[{},"posts",3,{"as":"post"}]"#
    let options = PersistenceOptions(identity: QueryIdentity(canonicalText: text))
    let byText = device.client().store(for: StoredQuery(["x"]) { 0 }.persisted(options))
    #expect(byText.currentValue == 5)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anInfiniteQueryAndADefaultValueMayHaveANameToo(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      try await client.store(for: StoredPages(["a"]).persisted(as: "pages")).fetchNextPage()
      client.store(for: Post(id: 1).persisted(as: "post").defaultValue("none")).currentValue = "x"
    }
    let client = device.client()
    let pages = client.store(for: StoredPages(["a"]).persisted(as: "pages"))
    #expect(pages.currentValue == textPages(0...0))
    let post = client.store(for: Moved.Article(id: 1).defaultValue("none").persisted(as: "post"))
    #expect(post.currentValue == "x")
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anIdentityGivenByHandTakesTheNamesPlace(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let options = PersistenceOptions(identity: QueryIdentity(canonicalText: "mine"))
    try await device.run { client in
      client.store(for: Post(id: 1).persisted(as: "post", options)).currentValue = "x"
    }
    let client = device.client()
    #expect(client.store(for: Post(id: 7).persisted(options)).currentValue == "x")
    let other = QueryClient(storage: device.storage)
    #expect(other.store(for: Post(id: 1).persisted(as: "post")).currentValue == nil)
  }

  // MARK: - Beginnings of paths

  @Test(arguments: StorageUnderTest.allCases)
  func everyBeginningOfThePathFindsANamedQueryOnDisk(_ kind: StorageUnderTest) async throws {
    let shelf = Shelf(number: 2)
    let path: QueryPath = ["posts", shelf, 3]
    let beginnings: [QueryPath] = [[], ["posts"], ["posts", shelf], path]
    let others: [QueryPath] = [
      ["post"], ["posts", 3], ["posts", Shelf(number: 3)], ["posts", shelf, 3, "post"],
      ["posts", shelf, 4],
    ]
    let named = StoredQuery(path) { 1 }.stale(after: 1_000).persisted(as: "post")
    for (beginnings, isFound) in [(beginnings, true), (others, false)] {
      for beginning in beginnings {
        let device = try Device(kind)
        try await device.run { client in client.store(for: named).currentValue = 5 }
        // No store lives.
        try await device.run { client in client.invalidate(matching: beginning) }
        let store = device.client().store(for: named)
        #expect(store.currentValue == 5)
        #expect(store.isInvalidated == isFound, "\(beginning)")
        #expect(store.isStale == isFound, "\(beginning)")
      }
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func everyBeginningOfThePathFindsALivingStoreAndTheNameDoesNot(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let client = device.client()
    let store = client.store(for: Post(id: 1).persisted(as: "post"))
    store.currentValue = "x"
    client.invalidate(matching: ["post"])
    client.invalidate(matching: Post(id: 2).path)
    #expect(!store.isInvalidated)
    client.invalidate(matching: Post(id: 1).path)
    #expect(store.isInvalidated)
    try await device.relaunch()
    #expect(device.client().store(for: Post(id: 1).persisted(as: "post")).isInvalidated)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func valuesOfAnotherTypeThatLookAlikeFindNamedQueriesAlone(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let named = Post(id: 1).persisted(as: "post")
    let nameless = StoredQuery([Post(id: 1), 1]) { 1 }.persisted()
    try await device.run { client in
      client.store(for: named).currentValue = "x"
      client.store(for: nameless).currentValue = 1
    }
    try await device.run { client in client.invalidate(matching: Moved.Article(id: 1).path) }
    #expect(device.client().store(for: named).isInvalidated)
    #expect(!device.client().store(for: nameless).isInvalidated)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aChangeOfANamedQueryThatWaitsIsInvalidatedToo(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let coder = GatedCoder(encoding: Door())
    let keeper = await self.busyStore(on: device, coder)
    defer { withExtendedLifetime(keeper) {} }
    device.client().store(for: Post(id: 1).persisted(as: "post")).currentValue = "x"
    device.client().invalidate(matching: Post(id: 1).path)
    coder.encoding.open()
    try await device.relaunch()
    let store = device.client().store(for: Post(id: 1).persisted(as: "post"))
    #expect(store.currentValue == "x")
    #expect(store.isInvalidated)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func namedQueriesArePrefetchedUnderTheBeginningOfTheirPath(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    try await device.run { client in
      for id in 1...3 { client.store(for: Post(id: id).persisted(as: "post")).currentValue = "x" }
    }
    try await device.storage.prefetch(matching: Post(id: 2).path)
    try await device.storage.prefetch(matching: [])
    for id in 1...3 {
      let post = device.client().store(for: Post(id: id).persisted(as: "post"))
      #expect(post.currentValue == "x")
    }
  }

  // MARK: - Without a name

  // The process warns once of a type, whichever storage it is for.
  @Test(.serialized, arguments: StorageUnderTest.allCases)
  func aPathWithTheTypeOfItsRequestIsReportedOnce(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let identity = try QueryIdentity(path: OnlyInWarning(id: 1).path)
    let typeName = identity.text.prefix { $0 != ":" }
    PersistenceWarnings.forget("type name: \(typeName)")
    let warning = QueryWarning.storedUnderTypeName(
      query: OnlyInWarning(id: 1)._debugTypeName, identity: identity)
    #expect(warning.message.contains("persisted(as:)"))
    try await withExpectedWarnings([warning]) {
      try await device.run { client in
        client.store(for: OnlyInWarning(id: 1).persisted()).currentValue = "x"
        _ = client.store(for: OnlyInWarning(id: 2).persisted())
      }
      // It is stored all the same.
      let store = device.client().store(for: OnlyInWarning(id: 1).persisted())
      #expect(store.currentValue == "x")
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aNameAnIdentityAndAPathOfOnesOwnAreNotReported(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    await withExpectedWarnings([]) {
      let client = device.client()
      _ = client.store(for: NeverReported(id: 1).persisted(as: "never"))
      let options = PersistenceOptions(identity: QueryIdentity(canonicalText: "mine"))
      _ = client.store(for: NeverReported(id: 2).persisted(options))
      _ = client.store(for: NeverReported(id: 3))
      _ = client.store(for: StoredQuery([NeverReported(id: 4), "x"]) { 1 }.persisted())
      _ = client.store(for: StoredQuery([Shelf(number: 1)]) { 1 }.persisted())
    }
  }
}

private protocol TextRequest: QueryRequest, Hashable
where Value == String, State == QueryState<String?, String> {}

extension TextRequest {
  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String { "fetched" }
}

private struct Post: TextRequest {
  let id: Int
}

/// Where another release has ``Post``.
private enum Moved {
  struct Article: TextRequest {
    let id: Int
  }
}

private struct Shelf: Hashable, Codable {
  let number: Int
}

private struct OnlyInWarning: TextRequest {
  let id: Int
}

private struct NeverReported: TextRequest {
  let id: Int
}
