import Query

/// What became of something that a person entered.
enum Written: Sendable {
  /// The server has it.
  case sent(String)
  /// It is on disk, and will be sent.
  case saved(reference: String)
}

extension Notebook {
  func create(_ title: String, in folder: String, text: String) async throws -> Written {
    let alias = NoteReference.alias()
    let draft = CreateNote.Draft(alias: alias, folder: folder, title: title, text: text)
    return try await self.write(alias) {
      try await client.store(for: CreateNote.durable).mutate(with: draft).id
    }
  }

  func edit(_ name: String, text: String) async throws -> Written {
    let note = try self.reference(name)
    return try await self.write(note) {
      try await client.store(for: EditNote.durable).mutate(with: .init(note: note, text: text)).id
    }
  }

  func delete(_ name: String) async throws -> Written {
    let note = try self.reference(name)
    return try await self.write(note) {
      try await client.store(for: DeleteNote.durable).mutate(with: note)
    }
  }

  /// Calls a durable mutation. It is on disk before it is sent, so an error thrown as "queued" is
  /// not a failure: the user must not enter it again.
  private func write(
    _ note: NoteReference,
    _ mutate: () async throws -> String
  ) async throws -> Written {
    do {
      return .sent(try await mutate())
    } catch is MutationQueuedError {
      return .saved(reference: note.name)
    }
  }
}
