import Foundation
import Query
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryHTTP

@Suite(.serialized) struct HTTPPagesTests {
  typealias Resource = ValidatingServer.Resource

  private let scratch: HTTPScratch
  private let server: ValidatingServer

  init() throws {
    self.scratch = try HTTPScratch()
    self.server = try ValidatingServer()
    for page in 0..<3 { self.set(page, version: 1) }
  }

  private func set(_ page: Int, version: Int, _ headers: [String: String] = [:]) {
    self.server["/notes?page=\(page)"] = Resource(
      "[\(page),\(version)]", headers: ["ETag": "\(page)-\(version)"].merging(headers) { $1 })
  }

  private func pages(
    removesOnGone: Bool = false, size: Int = 0
  ) -> HTTPPages<Int, [Int]> {
    let server = self.server
    return HTTPPages(
      server.url("/notes"), first: 0, removesOnGone: removesOnGone,
      url: { server.url("/notes?page=\($0)" + (size > 0 ? "&size=\(size)" : "")) },
      next: { id, _ in id < 2 ? id + 1 : nil })
  }

  private func load(_ client: QueryClient) async throws {
    let store = client.store(for: self.pages().persisted())
    for _ in 0..<3 { try await store.fetchNextPage() }
    self.server.answers.removeAll()
  }

  @Test func eachPageIsAskedAboutByItsOwnValidator() async throws {
    try await self.load(self.scratch.client())
    try await self.scratch.relaunch()
    let store = self.scratch.client().store(for: self.pages().persisted())
    try await store.fetch()
    #expect(
      self.server.answers.elements
        == ["304 /notes?page=0", "304 /notes?page=1", "304 /notes?page=2"])
    self.set(1, version: 2)
    self.server.answers.removeAll()
    try await store.fetch()
    #expect(store.currentValue.map(\.value) == [[0, 1], [1, 2], [2, 1]])
    #expect(
      self.server.answers.elements
        == ["304 /notes?page=0", "200 /notes?page=1", "304 /notes?page=2"])
    try await self.scratch.relaunch()
    self.server.answers.removeAll()
    let later = self.scratch.client().store(for: self.pages().persisted())
    try await later.fetch()
    #expect(later.currentValue.map(\.value) == [[0, 1], [1, 2], [2, 1]])
    #expect(self.server.answers.elements.allSatisfy { $0.hasPrefix("304") })
  }

  @Test func pagesOfAnotherURLAreNotAskedAbout() async throws {
    try await self.load(self.scratch.client())
    try await self.scratch.relaunch()
    for page in 0..<3 {
      self.server["/notes?page=\(page)&size=9"] = Resource("[9]", headers: ["ETag": "\(page)-1"])
    }
    let store = self.scratch.client().store(for: self.pages(size: 9).persisted())
    try await store.fetch()
    #expect(store.currentValue.map(\.value) == [[9], [9], [9]])
  }

  @Test func onePageThatMustNotBeStoredKeepsTheListFromIt() async throws {
    try await self.load(self.scratch.client())
    let store = self.scratch.client().store(for: self.pages().persisted())
    try await self.scratch.storage.flush()
    #expect(try self.scratch.folder.rows("SELECT 1 FROM pages").count == 3)
    self.set(1, version: 2, ["Cache-Control": "no-store"])
    try await store.fetch()
    #expect(store.currentValue.map(\.value) == [[0, 1], [1, 2], [2, 1]])
    try await self.scratch.storage.flush()
    #expect(try self.scratch.folder.rows("SELECT 1 FROM pages").count == 0)
    self.set(1, version: 3)
    try await store.fetch()
    try await self.scratch.storage.flush()
    #expect(try self.scratch.folder.rows("SELECT 1 FROM pages").count == 3)
  }

  @Test func aPageThatIsGoneRemovesTheListIfItIsTold() async throws {
    try await self.load(self.scratch.client())
    self.server["/notes?page=1"] = Resource("", status: 410)
    let kept = self.scratch.client().store(for: self.pages().persisted())
    await #expect(throws: HTTPStatusError(statusCode: 410)) { try await kept.fetch() }
    #expect(kept.currentValue.count == 3)
    let removing = self.scratch.client().store(
      for: self.pages(removesOnGone: true).persisted())
    await #expect(throws: HTTPStatusError(statusCode: 410)) { try await removing.fetch() }
    #expect(removing.currentValue.isEmpty)
    #expect(removing.error is HTTPStatusError)
    try await self.scratch.storage.flush()
    #expect(try self.scratch.folder.rows("SELECT 1 FROM pages").count == 0)
  }
}
