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

extension CreateNote {
  /// Never change a name that was released: rows on disk are found by it.
  static var durable: ModifiedQuery<CreateNote, some QueryModifier<CreateNote>> {
    CreateNote().persisted(
      as: "create-note", .init(scope: .by(\.alias.lane), invalidates: { _ in [["notes"]] }))
  }
}

extension EditNote {
  static var durable: ModifiedQuery<EditNote, some QueryModifier<EditNote>> {
    EditNote().persisted(
      as: "edit-note", .init(scope: .by(\.note.lane), invalidates: { _ in [["notes"]] }))
  }
}

extension DeleteNote {
  static var durable: ModifiedQuery<DeleteNote, some QueryModifier<DeleteNote>> {
    DeleteNote().persisted(
      as: "delete-note", .init(scope: .by(\.lane), invalidates: { _ in [["notes"]] }))
  }
}
