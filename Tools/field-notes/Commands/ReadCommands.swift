import Foundation
import Query
import QueryHTTP

/// What to show of a query, and its source.
struct Reading<Value: Sendable>: Sendable {
  let value: Value
  /// The age of a value that was seen before; nil: the server has just sent it.
  let age: TimeInterval?
  /// Why the server gave no answer, if it gave none.
  let problem: String?
}

extension Notebook {
  func folders() async -> Reading<[Folder]?> {
    let store = self.client.store(for: FoldersQuery().persisted())
    return await self.read(store) { _ = try await store.fetch() }
  }

  func note(_ id: String) async -> Reading<Note?> {
    let store = self.client.store(for: NoteQuery(id: id).persisted())
    return await self.read(store) { _ = try await store.fetch() }
  }

  /// - Parameter pages: How many pages; nil: all.
  func notes(in folder: String, pages: Int?) async -> Reading<[NotePage]> {
    let store = self.client.store(for: FolderNotesQuery(folder: folder).persisted())
    let reading = await self.read(store) {
      // Those that were seen before, then the ones after them.
      if !store.currentValue.isEmpty { try await store.fetchAllPages() }
      while store.currentValue.count < pages ?? .max, store.hasNextPage {
        try await store.fetchNextPage()
      }
    }
    let shown = reading.value.prefix(pages ?? .max).map(\.value)
    return Reading(value: Array(shown), age: reading.age, problem: reading.problem)
  }

  /// Follows a folder, by the events of the server.
  ///
  /// - Parameter show: Called with all notes that are shown, whenever something has changed.
  func watch(_ folder: String, _ show: @escaping @Sendable ([Note]) -> Void) -> QuerySubscription {
    let folders = self.client.store(for: self.liveFolders())
    let notes = self.client.store(for: FolderNotesQuery(folder: folder).persisted())
    return .combined([
      folders.subscribe { _ in },
      notes.subscribe { show($0.currentValue.flatMap(\.value.notes)) },
    ])
  }

  /// Fetches, and returns what the store has then: if the server could not be reached, the value of an
  /// earlier launch.
  private func read<State: QueryStateProtocol>(
    _ store: QueryStore<State>,
    _ fetch: () async throws -> Void
  ) async -> Reading<State.StateValue> {
    var problem: String?
    do { try await fetch() } catch { problem = Self.words(for: error) }
    var age: TimeInterval?
    if case .storage(let date) = store.origin { age = -date.timeIntervalSinceNow }
    return Reading(value: store.currentValue, age: age, problem: problem)
  }

  /// What a person needs to know of an error.
  static func words(for error: any Error) -> String {
    switch error {
    case let error as HTTPStatusError: "the server answered with \(error.statusCode)"
    case is URLError: "the server was not reached"
    default: "\(error)"
    }
  }
}
