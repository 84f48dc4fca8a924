import Foundation
import Query
import QuerySQLite

/// The modes of this program when it starts itself as a process beside the measured one. It says
/// that it has begun, works, and prints its figures, as nanoseconds, when its input ends.
enum Worker: Sendable {
  /// The argument that starts it, for internal use.
  static let argument = "--worker"

  /// Tries to take the write lock of databases all the time. Its figures are the longest waits.
  case probe(paths: [String])

  /// Enqueues so many mutations, one in each 20 ms. Its figures are what each took.
  case enqueue(folder: String, count: Int)

  /// Has stores and subscribers, and does nothing. Its figure is how many of both.
  case idle(folder: String, stores: Int, subscribers: Int)

  private var arguments: [String] {
    switch self {
    case .probe(let paths): ["probe"] + paths
    case .enqueue(let folder, let count): ["enqueue", folder, "\(count)"]
    case .idle(let folder, let stores, let subscribers):
      ["idle", folder, "\(stores)", "\(subscribers)"]
    }
  }
}

// MARK: - In the worker

extension Worker {
  /// Reads the arguments that follow ``argument``.
  ///
  /// - Throws: ``UsageError``.
  init(arguments: [String]) throws {
    let values = Array(arguments.dropFirst())
    switch arguments.first {
    case "probe": self = .probe(paths: values)
    case "enqueue" where values.count == 2:
      self = .enqueue(folder: values[0], count: Int(values[1]) ?? 0)
    case "idle" where values.count == 3:
      self = .idle(
        folder: values[0], stores: Int(values[1]) ?? 0, subscribers: Int(values[2]) ?? 0)
    default: throw UsageError("\(Self.argument) needs a work")
    }
  }

  func run() async throws {
    let figures =
      switch self {
      case .probe(let paths): try Self.probe(paths)
      case .enqueue(let folder, let count): try await Self.enqueue(count, folder)
      case .idle(let folder, let stores, let subscribers):
        try await Self.idle(stores, subscribers, folder)
      }
    Self.say(figures.map { "\($0)" }.joined(separator: " "))
  }

  private static func probe(_ paths: [String]) throws -> [Double] {
    let probes = try paths.map { try LockProbe(path: $0) }
    self.say("begun")
    _ = FileHandle.standardInput.readDataToEndOfFile()
    return try probes.map { try $0.end() }
  }

  private static func enqueue(_ count: Int, _ folder: String) async throws -> [Double] {
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder))
    let arguments = try JSONEncoder().encode(Note(0, edition: 0))
    // The first opens the file.
    _ = try await storage.outbox.enqueue(.note(arguments), claiming: false)
    self.say("begun")
    var times = [Double]()
    for _ in 0..<count {
      let watch = Stopwatch()
      _ = try await storage.outbox.enqueue(.note(arguments), claiming: false)
      times.append(watch.nanoseconds())
      try await Task.sleep(for: .milliseconds(20))
    }
    try await storage.close()
    return times
  }

  static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }
}

extension NewMutation {
  /// A mutation that saves a note.
  static func note(_ arguments: Data) -> NewMutation {
    NewMutation(name: "save-note", instance: #"["save-note"]"#, coder: "json", arguments: arguments)
  }
}

// MARK: - In the parent

extension Worker {
  /// A worker that works.
  struct Running {
    private let process: CountedProcess

    var processIdentifier: Int32 { self.process.processIdentifier }

    /// Starts the worker, and returns when it has begun.
    ///
    /// - Throws: ``CheckFailure``, and what `Process` throws.
    init(_ worker: Worker) throws {
      self.process = CountedProcess(nil, [Worker.argument] + worker.arguments)
      try self.process.run()
      let line = String(
        decoding: self.process.output.fileHandleForReading.availableData, as: UTF8.self)
      try expect(line, "begun\n", "what a worker says")
    }

    /// Ends the worker's input, and returns its figures.
    ///
    /// - Throws: ``CheckFailure`` if it has none.
    func end() throws -> [Double] {
      try self.process.input.fileHandleForWriting.close()
      let text = self.process.output.fileHandleForReading.readDataToEndOfFile()
      try expect(try self.process.waitForEnd(), 0, "the status of a worker")
      return String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        .compactMap { Double($0) }
    }
  }
}
