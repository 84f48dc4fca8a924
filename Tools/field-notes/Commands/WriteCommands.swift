import Query

/// What became of something that a person entered.
enum Written: Sendable {
  /// The server has it.
  case sent(String)
  /// It is on disk, and will be sent.
  case saved(reference: String)

  fileprivate init<Value>(
    _ delivery: MutationDelivery<Value>, of note: NoteReference, id: (Value) -> String
  ) {
    switch delivery {
    case .sent(let value): self = .sent(id(value))
    case .saved: self = .saved(reference: note.name)
    }
  }
}

extension Notebook {
  func create(_ title: String, in folder: String, text: String) async throws -> Written {
    let alias = NoteReference.alias()
    let draft = CreateNote.Draft(alias: alias, folder: folder, title: title, text: text)
    let delivery = try await client.store(for: CreateNote.durable).submit(with: draft)
    return Written(delivery, of: alias) { $0.id }
  }

  func edit(_ name: String, text: String) async throws -> Written {
    let note = try self.reference(name)
    let delivery = try await client.store(for: EditNote.durable)
      .submit(with: .init(note: note, text: text))
    return Written(delivery, of: note) { $0.id }
  }

  func delete(_ name: String) async throws -> Written {
    let note = try self.reference(name)
    let delivery = try await client.store(for: DeleteNote.durable).submit(with: note)
    return Written(delivery, of: note) { $0 }
  }
}
