import Foundation
import Query
import QuerySQLite

/// What this program does when it starts itself, to have a process of its own: it hydrates notes,
/// says which note was the first as soon as it has it, and then how much memory it has.
struct Child: Sendable {
  /// The argument that starts it, for internal use.
  static let argument = "--child"

  /// The folder and the numbers of the notes; nil: it does no work.
  private let work: (folder: URL, numbers: [Int])?

  /// A child that does nothing.
  static let empty = Child(work: nil)

  private init(work: (folder: URL, numbers: [Int])?) { self.work = work }

  init(folder: URL, numbers: [Int]) { self.init(work: (folder, numbers)) }
}

// MARK: - In the child

extension Child {
  /// Reads the arguments that follow ``argument``.
  ///
  /// - Throws: ``UsageError``.
  init(arguments: [String]) throws {
    guard let folder = arguments.first else {
      self = .empty
      return
    }
    let numbers = arguments.dropFirst().compactMap { Int($0) }
    if numbers.isEmpty { throw UsageError("\(Self.argument) FOLDER needs numbers") }
    self.init(folder: URL(fileURLWithPath: folder), numbers: numbers)
  }

  /// Does the work, and prints two lines.
  func run() throws {
    guard let work else {
      Self.say("0")
      Self.say("\(try Allocations.residentBytes())")
      return
    }
    // As applications have them.
    let storage = try SQLiteQueryStorage(directory: work.folder)
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
    /// The nanoseconds from its start to its first line.
    let time: Double
    /// The nanoseconds from its start to its end.
    let wholeTime: Double
    let residentBytes: Int
  }

  /// Starts the child, and waits for its end.
  ///
  /// - Throws: ``CheckFailure`` if it did not do its work, and what `Process` throws.
  func start() throws -> Run {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [Self.argument]
    if let work { process.arguments? += [work.folder.path] + work.numbers.map { "\($0)" } }
    let output = Pipe()
    process.standardOutput = output
    let watch = Stopwatch()
    try process.run()
    var text = output.fileHandleForReading.availableData
    let time = watch.nanoseconds()
    text += output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let wholeTime = watch.nanoseconds()
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    let first = self.work.map { Note.offset + $0.numbers[0] } ?? 0
    try expect(process.terminationStatus, 0, "the status of the child")
    try expect(lines.first, "\(first)", "the first line of the child")
    guard let bytes = lines.last.flatMap({ Int($0) }) else {
      throw CheckFailure(description: "the child has lost a note")
    }
    return Run(time: time, wholeTime: wholeTime, residentBytes: bytes)
  }
}
