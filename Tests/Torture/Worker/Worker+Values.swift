import Query
import QuerySQLite

extension Worker {
  func writeValues() async {
    await self.place.withStorage { storage in
      var version = self.place.firstNumber
      while !Task.isCancelled {
        await self.writeValues(self.place.draw(1...12), in: storage, &version)
        await self.place.pause(milliseconds: 0...20)
      }
    }
  }

  /// Sets some values, flushes, and takes note of them.
  func writeValues(_ count: Int, in storage: SQLiteQueryStorage, _ version: inout Int) async {
    let client = self.client(storage)
    var written = [String: Int]()
    for _ in 0..<count {
      version += 1
      let query = NoteQuery(
        writer: self.place.order.writer, number: self.place.draw(0...NoteQuery.count - 1))
      client.store(for: query.persisted()).currentValue = Note(
        writer: query.writer, number: query.number, version: version, length: self.length)
      written[query.name] = version
    }
    do {
      try await storage.flush()
      for (name, version) in written { self.place.acknowledge(value: name, version: version) }
    } catch {
      self.place.complain(error, "flush: ")
    }
  }

  /// Mostly short, now and then so long that files grow by it.
  var length: Int {
    switch self.place.draw(1...200) {
    case 1: self.place.draw(100_000...200_000)
    case 2...6: self.place.draw(5_000...60_000)
    default: self.place.draw(0...500)
    }
  }

  /// No value of others is ever older than it was, and each is whole.
  func readValues() async {
    await self.place.withStorage { storage in
      var seen = [String: Int]()
      while !Task.isCancelled {
        let client = self.client(storage)
        for _ in 0..<50 {
          let query = NoteQuery(
            writer: "\(self.place.draw(0...self.place.order.writers - 1))",
            number: self.place.draw(0...NoteQuery.count - 1))
          await self.read(query, client, &seen)
        }
        await self.place.pause(milliseconds: 0...20)
      }
    }
  }

  private func read(_ query: NoteQuery, _ client: QueryClient, _ seen: inout [String: Int]) async {
    let store = client.store(for: query.persisted())
    await store.hydrated()
    guard let note = store.currentValue else {
      // A read that failed says so by an event.
      return
    }
    guard let version = note.version(writer: query.writer, number: query.number) else {
      return self.place.complain("value \(query.name) is not whole: \(note.text.prefix(60))")
    }
    if version < seen[query.name] ?? 0 {
      self.place.complain(
        "value \(query.name) was \(seen[query.name] ?? 0), and is \(version) again")
    }
    seen[query.name] = max(version, seen[query.name] ?? 0)
  }
}
