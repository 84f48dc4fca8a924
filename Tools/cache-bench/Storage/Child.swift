import Foundation
import Query
import QuerySQLite

/// What this program does when it starts itself, to have a process of its own: it hydrates notes,
/// says which note was the first as soon as it has it, and then how much memory it has.
struct Child: Sendable {
  /// The argument that starts it, for internal use.
  static let argument = "--child"

  /// The folder, or the file, and the numbers of the notes; nil: it does no work.
  private let work: (path: String, numbers: [Int])?
  /// Whether it is the program in C alone, which reads the file of a ``LeanDatabase``.
  private let isLean: Bool

  /// A child that reads its arguments and does nothing.
  static let empty = Child(work: nil, isLean: false)

  private init(work: (path: String, numbers: [Int])?, isLean: Bool) {
    (self.work, self.isLean) = (work, isLean)
  }

  init(_ folder: URL, _ numbers: [Int]) { self.init(work: (folder.path, numbers), isLean: false) }

  init(lean file: String, _ numbers: [Int]) { self.init(work: (file, numbers), isLean: true) }
}

// MARK: - In the child

extension Child {
  /// Reads the arguments that follow ``argument``.
  ///
  /// - Throws: ``UsageError``.
  init(arguments: [String]) throws {
    let (folder, numbers) = (arguments.first ?? "", arguments.dropFirst().compactMap { Int($0) })
    if numbers.isEmpty { throw UsageError("\(Self.argument) FOLDER needs numbers") }
    if folder.isEmpty {
      self = .empty
      return
    }
    self.init(work: (folder, numbers), isLean: false)
  }

  /// Does the work, and prints two lines.
  func run() throws {
    guard let work else {
      Self.say("0")
      Self.say("\(try Allocations.residentBytes())")
      return
    }
    // As applications have them.
    let storage = try SQLiteQueryStorage(directory: URL(fileURLWithPath: work.path))
    let client = QueryClient(storage: storage)
    var stores = [client.noteStore(work.numbers[0])]
    Self.say("\(stores[0].currentValue?.id ?? 0)")
    stores += work.numbers.dropFirst().map(client.noteStore)
    let isWhole = zip(stores, work.numbers).allSatisfy { $0.currentValue?.number == $1 }
    Self.say(isWhole ? "\(try Allocations.residentBytes())" : "a note is missing")
    withExtendedLifetime(stores) {}
  }

  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }
}

// MARK: - In the parent

extension Child {
  /// What became of a child.
  struct Run {
    /// The nanoseconds from its start to its first line. Each has what all of it used.
    let time: Reading
    /// The nanoseconds from its start to its end.
    let wholeTime: Reading
    let residentBytes: Reading
  }

  /// Starts the child, and waits for its end.
  ///
  /// - Throws: ``CheckFailure`` if it did not do its work, and what `Process` throws.
  func start() throws -> Run {
    let process = CountedProcess(self.isLean ? "lean-reader" : nil, try self.arguments())
    let gauge = Gauge()
    let watch = Stopwatch()
    try process.run()
    let output = process.output.fileHandleForReading
    var text = output.availableData
    let time = watch.nanoseconds()
    text += output.readDataToEndOfFile()
    let status = try process.waitForEnd()
    let wholeTime = watch.nanoseconds()
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    let first = self.work.map { Note.offset + $0.numbers[0] } ?? 0
    try expect(status, 0, "the status of the child")
    try expect(lines.first, "\(first)", "the first line of the child")
    guard let bytes = lines.last.flatMap({ Double($0) }) else {
      throw CheckFailure(description: "the child has lost a note")
    }
    return Run(
      time: gauge.reading(of: time), wholeTime: gauge.reading(of: wholeTime),
      residentBytes: gauge.reading(of: bytes))
  }

  private func arguments() throws -> [String] {
    guard let work else { return [Self.argument, "", "1"] }
    if self.isLean { return [work.path] + (try work.numbers.map(NoteQuery.identity)) }
    return [Self.argument, work.path] + work.numbers.map { "\($0)" }
  }
}
