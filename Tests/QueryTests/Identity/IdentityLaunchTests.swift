import Foundation
import Testing

@testable import Query

/// Two launches have other addresses and another seed for hashes, but the same identities.
@Suite("Identities of two launches")
struct IdentityLaunchTests {
  @Test("A private, nested, generic query type, sets and dictionaries are the same on each launch")
  func launches() async throws {
    let first = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        try LaunchQuery.printIdentity()
      }
    )
    let second = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        try LaunchQuery.printIdentity()
      }
    )
    let own = try LaunchQuery.identity().text
    #expect(try Self.printed(by: first) == own)
    #expect(try Self.printed(by: second) == own)
  }

  @Test("The identity says which type it is")
  func text() throws {
    #expect(
      try LaunchQuery.identity().text.hasPrefix(
        #"["launch",{"QueryTests.LaunchQuery.Page<QueryTests.LaunchFilter>":{"codes":"#
      )
    )
  }

  private static func printed(by process: ExitTest.Result) throws -> String {
    let output = String(decoding: process.standardOutputContent, as: UTF8.self)
    let line = output.split(separator: "\n").first { $0.hasPrefix(LaunchQuery.mark) }
    return try String(#require(line).dropFirst(LaunchQuery.mark.count))
  }
}

private enum LaunchFilter: Hashable {
  case tags(Set<String>, [String: Int])
}

private enum LaunchQuery {
  static let mark = "identity: "

  struct Page<Filter: Hashable & Sendable>: Hashable {
    let filter: Filter
    let codes: CodedVectorQuery
  }

  static func identity() throws -> QueryIdentity {
    let names = (0..<50).map { "name \($0)" }
    let counts = Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })
    let page = Page(
      filter: LaunchFilter.tags(Set(names), counts),
      codes: CodedVectorQuery(tags: Set(names), id: 1)
    )
    return try QueryIdentity(path: ["launch", page])
  }

  static func printIdentity() throws {
    print(Self.mark + (try Self.identity().text))
  }
}
