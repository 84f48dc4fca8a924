import Foundation
import Query
import QueryReplay
import QuerySQLite

/// A small notebook for a terminal, which works with and without a network: what a program on this
/// library looks like. `Reading` has its queries, `Writing` its durable mutations, and `Notebook` puts
/// them together.
@main
struct FieldNotes {
  let notebook: Notebook

  static func main() async {
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      if arguments.asksForHelp { return print(Arguments.help) }
      let notebook = try Notebook(server: arguments.server, folder: arguments.store)
      let code = try await FieldNotes(notebook: notebook).run(arguments)
      // Writes what is left, and closes the files.
      try await notebook.storage.close()
      exit(code)
    } catch let error as UsageError {
      Self.complain("\(error.message); see field-notes --help")
      exit(64)
    } catch let error as StorageError {
      Self.complain("\(error)")
      exit(74)
    } catch {
      Self.complain("\(error)")
      exit(1)
    }
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("field-notes: \(message)\n".utf8))
  }

  /// - Returns: The exit code.
  private func run(_ arguments: Arguments) async throws -> Int32 {
    let words = arguments.words
    switch (words.first, words.count) {
    case ("folders", 1): return self.show(await self.notebook.folders())
    case ("list", 2):
      return self.show(await self.notebook.notes(in: words[1], pages: arguments.pages))
    case ("watch", 2): return await self.watch(words[1], pages: arguments.pages)
    case ("keep", 2): return try await self.keep(words[1])
    case ("let-go", 2):
      let isKept = try await self.notebook.client.packs.remove(words[1])
      print(isKept ? "let go of \(words[1])" : "\(words[1]) was not kept")
      return 0
    case ("show", 2): return self.show(await self.notebook.note(words[1]))
    case ("create", 3), ("create", 4):
      let text = words.count == 4 ? words[3] : ""
      return self.say(try await self.notebook.create(words[2], in: words[1], text: text), "created")
    case ("edit", 3):
      return self.say(try await self.notebook.edit(words[1], text: words[2]), "edited")
    case ("delete", 2): return self.say(try await self.notebook.delete(words[1]), "deleted")
    case ("unsent", 1): return try self.showUnsent()
    case ("sync", 1): return try await self.sync()
    case ("run", 1): return try await self.sendUntilInterrupted()
    case (nil, _): throw UsageError("a command is missing")
    case (let command?, _): throw UsageError("'\(command)' is no command, or needs other arguments")
    }
  }
}

// MARK: - Showing

extension FieldNotes {
  private func show(_ reading: Reading<[Folder]?>) -> Int32 {
    for folder in reading.value ?? [] { print("\(folder.name)  \(folder.count)") }
    return self.sayWhence(reading, isEmpty: reading.value == nil)
  }

  private func show(_ reading: Reading<Note?>) -> Int32 {
    if let note = reading.value {
      print("\(note.title) (\(note.id), in \(note.folder), edition \(note.edition))")
      if !note.text.isEmpty { print(note.text) }
    }
    return self.sayWhence(reading, isEmpty: reading.value == nil)
  }

  private func show(_ reading: Reading<[NotePage]>) -> Int32 {
    for note in reading.value.flatMap(\.notes) { print(note.line) }
    return self.sayWhence(reading, isEmpty: reading.value.isEmpty)
  }

  /// Shows a list, and then what changes of it.
  private func watch(_ folder: String, pages: Int?) async -> Int32 {
    let reading = await self.notebook.notes(in: folder, pages: pages)
    _ = self.show(reading)
    // A program that reads the output waits for the list.
    fflush(nil)
    let shown = Locked(reading.value.flatMap(\.notes))
    let watching = self.notebook.watch(folder) { notes in
      let before = shown.withLock { shown in
        defer { shown = notes }
        return shown
      }
      for note in notes where !before.contains(note) { Self.sayAtOnce(note.line) }
      let ids = Set(notes.map(\.id))
      for note in before where !ids.contains(note.id) { Self.sayAtOnce("\(note.id)  is gone") }
    }
    await Self.interruption()
    watching.cancel()
    return 0
  }

  /// Keeps a folder, and waits for all of it.
  private func keep(_ folder: String) async throws -> Int32 {
    let pack = try await self.notebook.client.keep(folder) {
      FolderNotesQuery(folder: folder).pages(.all)
    }
    for await (progress, state) in pack.updates {
      switch state {
      case .complete:
        print("kept \(folder), \(progress.bytes) bytes")
        return 0
      case .stopped(let error):
        Self.complain("\(error); field-notes run goes on with it")
        return 75
      case .waiting:
        Self.complain("\(folder) is not here yet; field-notes run goes on with it")
        return 75
      case .idle, .fetching: continue
      }
    }
    return 75
  }

  /// Prints the source on standard error, so that standard output has the notes alone.
  private func sayWhence<Value>(_ reading: Reading<Value>, isEmpty: Bool) -> Int32 {
    if let problem = reading.problem {
      let seen =
        isEmpty
        ? "nothing of this was seen before"
        : "as it was seen \(reading.age.map(Self.words(for:)) ?? "a moment ago")"
      Self.complain("\(problem); \(seen)")
    }
    if let count = try? self.notebook.unsent().count, count > 0 {
      Self.complain("\(count) not sent yet; see field-notes unsent")
    }
    return isEmpty && reading.problem != nil ? 69 : 0
  }

  private static func words(for age: TimeInterval) -> String {
    switch age {
    case ..<60: "\(Int(age)) s ago"
    case ..<3_600: "\(Int(age / 60)) min ago"
    case ..<86_400: "\(Int(age / 3_600)) h ago"
    default: "\(Int(age / 86_400)) days ago"
    }
  }
}

// MARK: - Writing

extension FieldNotes {
  private func say(_ written: Written, _ done: String) -> Int32 {
    switch written {
    case .sent(let note): print("\(done) \(note)")
    case .saved(let reference): print("saved \(reference), and not sent yet")
    }
    return 0
  }

  private func showUnsent() throws -> Int32 {
    for entry in try self.notebook.unsent() {
      let why = try self.notebook.storage.outbox.why(entry.id)
      print("\(entry.name)  \(entry.lane ?? "")  \(why)")
    }
    return 0
  }

  private func sync() async throws -> Int32 {
    let summary = try await self.notebook.replayer().replayOnce()
    print("\(summary.succeeded) sent, \(summary.waiting) waiting, \(summary.dead) refused for good")
    return summary.waiting > 0 ? 75 : 0
  }

  private func sendUntilInterrupted() async throws -> Int32 {
    let replayer = self.notebook.replayer()
    try await self.notebook.client.packs.resume()
    let sending = Task { try await replayer.run() }
    let saying = Task {
      for await event in replayer.events { Self.say(event) }
    }
    await Self.interruption()
    sending.cancel()
    // Running attempts are ended first, and their writes wait again.
    _ = await sending.result
    saying.cancel()
    return 0
  }

  private static func say(_ event: ReplayEvent) {
    switch event {
    case .succeeded(let id): self.sayAtOnce("sent \(id)")
    case .dead(let id, let reason): self.sayAtOnce("refused for good: \(id), \(reason)")
    default: break
    }
  }

  /// Unlike `print`, which buffers its output if a program reads it.
  private static func sayAtOnce(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  /// Returns when the user pressed Ctrl-C, or the system ends the program.
  private static func interruption() async {
    let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
    let sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { continuation.yield() }
      source.resume()
      return source
    }
    for await _ in signals { break }
    for source in sources { source.cancel() }
  }
}
