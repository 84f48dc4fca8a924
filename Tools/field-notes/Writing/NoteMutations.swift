import Query

/// Makes a note. The server names it; until it has, the note goes by an alias.
struct CreateNote: MutationRequest, Hashable {
  struct Draft: Codable, Hashable, Sendable {
    let alias: NoteReference
    let folder: String
    let title: String
    let text: String
  }

  func mutate(
    with draft: Draft,
    in context: QueryContext,
    with continuation: QueryContinuation<Note>
  ) async throws -> Note {
    let content = ["folder": draft.folder, "title": draft.title, "text": draft.text]
    let note: Note = try await context.notesServer.write(
      "POST", ["notes"], content, for: context.mutationAttempt)
    // Committed with the success: writes that wait for the name find it, also after a restart.
    try context.mutationAttempt?.publish(alias: draft.alias.name, value: note.id)
    return note
  }
}

/// Gives a note another text.
struct EditNote: MutationRequest, Hashable {
  struct Change: Codable, Hashable, Sendable {
    let note: NoteReference
    let text: String
  }

  func mutate(
    with change: Change,
    in context: QueryContext,
    with continuation: QueryContinuation<Note>
  ) async throws -> Note {
    let id = try change.note.resolved(by: context.mutationAttempt)
    return try await context.notesServer.write(
      "PUT", ["notes", id], ["text": change.text], for: context.mutationAttempt)
  }
}

/// Deletes a note.
struct DeleteNote: MutationRequest, Hashable {
  func mutate(
    with note: NoteReference,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    let id = try note.resolved(by: context.mutationAttempt)
    let answer: [String: String] = try await context.notesServer.write(
      "DELETE", ["notes", id], [String: String](), for: context.mutationAttempt)
    return answer["deleted"] ?? id
  }
}

// MARK: - On disk before they are sent

// Each says what it will change in the lists and the notes that are shown, until the server's answer
// has it. Made twice, such an edit is as if made once.

extension CreateNote {
  /// Never change a name that was released: rows on disk are found by it.
  static var durable: some MutationRequest<Draft, Note> {
    CreateNote().persisted(
      as: "create-note", .init(scope: .by(\.alias.lane), invalidates: { _ in [["notes"]] })
    ).optimistic(
      on: { FolderNotesQuery(folder: $0.folder).persisted() }, whenDead: .kept,
      { pages, draft, edit in
        // As the server calls it, once that is known.
        let id = edit.alias(draft.alias.name) ?? draft.alias.name
        if pages.change(id, { _ in }) { return }
        let note = Note(
          id: id, folder: draft.folder, title: draft.title, text: draft.text, edition: 0,
          unsent: edit.unsent)
        var first = pages.first ?? InfiniteQueryPage(id: "", value: NotePage(notes: [], next: nil))
        first.value.notes.append(note)
        pages.updateOrAppend(first)
      })
  }
}

extension EditNote {
  static var durable: some MutationRequest<Change, Note> {
    EditNote().persisted(
      as: "edit-note", .init(scope: .by(\.note.lane), invalidates: { _ in [["notes"]] })
    ).optimistic(
      under: { _ in ["notes", "folder"] }, of: FolderNotesQuery.State.self, whenDead: .kept,
      { pages, change, edit in
        pages.change(change.note.name(in: edit)) { $0.show(change.text, edit) }
      }
    ).optimistic(
      on: { NoteQuery(id: $0.note.name).persisted() }, whenDead: .kept,
      { note, change, edit in note?.show(change.text, edit) })
  }
}

extension DeleteNote {
  static var durable: some MutationRequest<NoteReference, String> {
    DeleteNote().persisted(
      as: "delete-note", .init(scope: .by(\.lane), invalidates: { _ in [["notes"]] })
    ).optimistic(
      under: { _ in ["notes", "folder"] }, of: FolderNotesQuery.State.self,
      { pages, note, edit in
        let id = note.name(in: edit)
        for var page in pages where page.value.notes.contains(where: { $0.id == id }) {
          page.value.notes.removeAll { $0.id == id }
          pages.updateOrAppend(page)
        }
      })
  }
}

extension NoteReference {
  /// How a list calls the note.
  fileprivate func name(in edit: OptimisticContext) -> String {
    self.isAlias ? edit.alias(self.name) ?? self.name : self.name
  }
}

extension Note {
  fileprivate mutating func show(_ text: String, _ edit: OptimisticContext) {
    self.text = text
    self.unsent = edit.unsent
  }
}

extension OptimisticContext {
  fileprivate var unsent: Note.Unsent? {
    switch self.standing {
    case .waiting, .running: .waiting
    case .dead: .refused
    case .acknowledged: nil
    }
  }
}

extension InfiniteQueryPages<String, NotePage> {
  /// Changes a note, on whichever page it is.
  ///
  /// - Returns: Whether it is on one.
  @discardableResult
  fileprivate mutating func change(_ id: String, _ body: (inout Note) -> Void) -> Bool {
    for var page in self {
      guard let place = page.value.notes.firstIndex(where: { $0.id == id }) else { continue }
      body(&page.value.notes[place])
      self.updateOrAppend(page)
      return true
    }
    return false
  }
}
