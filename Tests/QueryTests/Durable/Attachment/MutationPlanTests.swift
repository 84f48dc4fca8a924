import Foundation
import TestSupport
import Testing

@testable import Query

/// Two declarations of one path.
@Suite(.warningsAreIssues) struct MutationPlanTests {
  private typealias Options = MutationPersistenceOptions<Note>

  @Test func twoThatDisagreeAreAnErrorThatNamesBoth() async throws {
    let client = Device().launch()
    let notes = SaveNote().persisted(as: "save-note", Options(scope: .named("notes")))
    let photos = SaveNote().persisted(
      as: "save-note", Options(scope: .named("photos"), maxAttempts: 3))
    _ = try client.durableRunner(for: notes)
    let error = #expect(throws: MutationDeclarationError.self) {
      try client.durableRunner(for: photos)
    }
    let text = "\(try #require(error))"
    #expect(text.contains(#"scope: .named("notes")"#))
    #expect(text.contains(#"scope: .named("photos")"#))
    #expect(text.contains("maxAttempts: 3"))
  }

  @Test func theStoreOfASecondDeclarationStoresAsThatSays() async throws {
    let device = Device()
    let client = device.launch()
    let notes = SaveNote().persisted(as: "save-note", Options(scope: .named("notes")))
    let photos = SaveNote().persisted(as: "save-photo", Options(scope: .named("photos")))
    let store = client.store(for: notes)
    let error = MutationDeclarationError.otherDeclaration(
      path: "\(store.path)",
      declared:
        #""save-note" (scope: .named("notes"), onFailure: continue, maxAttempts: nil, maxAge: nil, coalesce: none)"#,
      redeclared:
        #""save-photo" (scope: .named("photos"), onFailure: continue, maxAttempts: nil, maxAge: nil, coalesce: none)"#
    )
    let second = await withExpectedWarnings([.otherDeclaration(error)]) {
      client.store(for: photos)
    }
    #expect(second !== store)
    let ticket = try await second.enqueue(with: Note(id: 1, text: "a"))
    #expect(try device.outbox.entry(ticket.id)?.lane == "photos")
    #expect(client.store(for: notes) === store)
  }

  @Test func aLaterRegistrationReplacesTheHandlerAndItsClosures() async throws {
    let device = Device()
    let client = device.launch()
    let store = client.store(
      for: SaveNote { _ in "old" }.persisted(as: "save-note", Options(scope: .named("notes"))))
    let classified = Counter()
    let renewed = SaveNote { _ in "new" }.persisted(
      as: "save-note",
      Options(
        scope: .named("notes"),
        invalidates: { _ in
          classified.increment()
          return []
        }))
    let runner = try #require(try client.durableRunner(for: renewed))
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    _ = await runner.run(try #require(claim.leases.first))
    #expect(try await ticket.outcome() == "new")
    #expect(store.currentValue == "new")
    #expect(classified.value == 1)
  }

  @Test func newArgumentsOfAConflictHaveTheVersionOfTheRegistrationThatCodedThem() async throws {
    let device = Device()
    let client = device.launch()
    let store = client.store(
      for: SaveNote { _ in throw HTTPStatusError(statusCode: 409) }.persisted(as: "save-note"))
    let newer = SaveNote { _ in throw HTTPStatusError(statusCode: 409) }.persisted(
      as: "save-note",
      Options(
        version: 2, upgrade: { data, _ in data },
        onConflict: { note, _, _ in .retry(with: Note(id: note.id, text: "merged")) }))
    let runner = try #require(try client.durableRunner(for: newer))
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    _ = await runner.run(try #require(claim.leases.first))
    #expect(try device.outbox.entry(ticket.id)?.version == 2)
  }
}
