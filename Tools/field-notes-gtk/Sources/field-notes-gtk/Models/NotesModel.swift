import Foundation
import Observation
import Query
import QuerySQLite

/// What the window shows of the notes, and what can be done with them.
///
/// It keeps no copies: what it tells is read from the stores, which Observation tracks.
@MainActor @Observable
final class NotesModel {
  /// The folder whose notes are shown.
  private(set) var folder: String?
  /// The note in the editor; nil: a new one.
  var selectedId: String?
  /// The time, of which the age of the notes is made: that grows without a change.
  private var now = Date()
  /// Why the last thing that was entered could not be saved; nil: it was.
  private var problem: String?

  let outgoing: OutgoingModel
  private let notebook: Notebook
  private let folderStore: QueryStore<FoldersQuery.State>
  private var noteStore: QueryStore<FolderNotesQuery.State>?
  /// A store with a subscriber fetches by itself if what it has is old.
  @ObservationIgnored private var subscriptions = [QuerySubscription]()
  @ObservationIgnored private var clock: Task<Void, Never>?

  init(_ notebook: Notebook) {
    self.notebook = notebook
    self.outgoing = OutgoingModel(notebook)
    // Asked for again and again, too, it tells whether the server is there.
    self.folderStore = notebook.client.store(
      for: notebook.liveFolders().refetch(every: .seconds(15)))
    self.subscriptions = [self.folderStore.subscribe(with: .init())]
    self.open(self.folders.first?.name)
    self.clock = Task { [weak self] in
      while (try? await Task.sleep(for: .seconds(30))) != nil { self?.now = Date() }
    }
  }

  /// Ends what follows the stores, the system and the time.
  func close() {
    self.subscriptions = []
    self.clock?.cancel()
    self.outgoing.close()
  }

  func open(_ folder: String?) {
    guard folder != self.folder else { return }
    (self.folder, self.selectedId) = (folder, nil)
    self.noteStore = folder.map {
      self.notebook.client.store(for: FolderNotesQuery(folder: $0).persisted().stale(after: 60))
    }
    self.subscriptions.removeSubrange(1...)
    if let noteStore { self.subscriptions.append(noteStore.subscribe(with: .init())) }
  }
}

// MARK: - What is shown

extension NotesModel {
  var folders: [Folder] { self.folderStore.currentValue ?? [] }

  /// What was fetched, page by page, with what was entered and is not sent.
  var pages: [[Note]] { self.noteStore?.currentValue.map(\.value.notes) ?? [] }

  var count: Int { self.pages.reduce(0) { $0 + $1.count } }

  var selected: Note? {
    guard let selectedId else { return nil }
    return self.pages.joined().first { $0.id == selectedId }
  }

  /// How the list calls a note: one that was entered here has another name once it is sent.
  func nameInList(of id: String) -> String {
    if self.selected != nil { return id }
    return (try? self.notebook.storage.outbox.value(ofAlias: id)) ?? id
  }

  /// What is shown instead of notes: nothing, as long as nothing is known.
  var placeholder: String {
    self.noteStore?.origin == .initial || !self.pages.allSatisfy(\.isEmpty) ? "" : "No notes"
  }

  var isLoading: Bool { self.noteStore?.isLoading ?? self.folderStore.isLoading }

  /// Whether there is a network, and the server has answered last time.
  var isConnected: Bool { self.outgoing.isOnline && self.folderStore.error == nil }

  /// What is not sent, and how old the rest is: "2 not sent · 12 min old".
  var status: String {
    let changes = self.noteStore?.pendingChanges ?? []
    let unsent = changes.count { if case .dead = $0.standing { false } else { true } }
    var seenAt = self.noteStore?.valueLastUpdatedAt
    if case .storage(let date) = self.noteStore?.origin { seenAt = date }
    let words = [
      self.problem, unsent == 0 ? nil : "\(unsent) not sent",
      seenAt.map { Self.age(self.now.timeIntervalSince($0)) } ?? "never fetched",
    ]
    return words.compactMap(\.self).joined(separator: " · ")
  }

  /// As "12 min old".
  private static func age(_ seconds: TimeInterval) -> String {
    if seconds < 60 { return "fetched just now" }
    let age = Duration.seconds(Int64(seconds))
    return age.formatted(.units(allowed: [.days, .hours, .minutes], maximumUnitCount: 1)) + " old"
  }
}

// MARK: - What can be done

extension NotesModel {
  /// Fetches the next page, if there is one and nothing is being fetched.
  func fetchNextPage() {
    guard let noteStore, noteStore.hasNextPage, !noteStore.isLoading else { return }
    // If it fails, the store has the error.
    Task { _ = try? await noteStore.fetchNextPage() }
  }

  /// Sends at once what waits for another attempt, and fetches what is shown.
  func refresh() {
    let (outbox, folders, notes) = (self.notebook.storage.outbox, self.folderStore, self.noteStore)
    Task {
      try? await outbox.release(.backoff)
      _ = try? await folders.fetch()
      _ = try? await notes?.fetch()
    }
  }

  func add(_ title: String, text: String) {
    guard let folder else { return }
    self.write { try await $0.create(title, in: folder, text: text) }
  }

  func edit(_ id: String, text: String) { self.write { try await $0.edit(id, text: text) } }

  func delete(_ id: String) {
    self.selectedId = nil
    self.write { try await $0.delete(id) }
  }

  /// Commits a write off the main thread, which would wait for the disk; then it is shown. ``OutgoingModel``
  /// tells if the server refuses it.
  private func write(_ body: @escaping @Sendable (Notebook) async throws -> Written) {
    let notebook = self.notebook
    Task {
      let result = await Task { @concurrent in try await body(notebook) }.result
      if case .failure(let error as StorageError) = result {
        self.problem = "Not saved: \(error)"
      } else {
        self.problem = nil
      }
    }
  }
}
