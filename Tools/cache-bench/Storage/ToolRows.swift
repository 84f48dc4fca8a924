import Foundation

/// What the tools take for a store with many entries.
enum ToolRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [
      Row(
        name: "inspect-list-time",
        title: "cache-inspect list of \(corpus.count) entries",
        goal: .atMost(500_000_000),
        floor: "cache-inspect --version",
        lean: .program("a program in C alone that lists dates and keys"),
        unit: .nanoseconds
      ) {
        try await Self.trial(corpus) { $0.time }
      },
      Row(
        name: "inspect-list-memory",
        title: "cache-inspect list of \(corpus.count) entries, peak memory",
        goal: .atMost(64 * 1024 * 1024),
        floor: "cache-inspect --version",
        lean: .absent("it has less than what starts it, which the kernel counts"),
        unit: .bytes
      ) {
        try await Self.trial(corpus, hasLean: false) { Double($0.peakBytes) }
      },
    ]
  }

  private static func trial(
    _ corpus: Corpus,
    hasLean: Bool = true,
    _ figure: @escaping @Sendable (ToolRun) -> Double
  ) async throws -> Trial {
    let files = try await corpus.files()
    let arguments = ["list", "--store", files.folder.path]
    let lines = try ToolRun("cache-inspect", arguments).lines
    // A line of titles stands before them; rows that have measured changes may have added some.
    if lines <= corpus.count {
      throw CheckFailure(description: "cache-inspect lists \(lines) lines")
    }
    let lean: Trial.Round = {
      Self.reading(try ToolRun("lean-reader", [files.lean]), figure)
    }
    return Trial(
      counting: { Self.reading(try ToolRun("cache-inspect", arguments), figure) },
      floor: { Self.reading(try ToolRun("cache-inspect", ["--version"]), figure) },
      lean: hasLean ? lean : nil,
      mostRounds: 11
    )
  }

  /// What a program does to files that does not count it is not known.
  private static func reading(_ run: ToolRun, _ figure: (ToolRun) -> Double) -> Reading {
    Reading(
      figure: figure(run),
      expense: Expense(
        processorTime: run.processorTime, bytesWritten: run.bytesWritten, frames: .nan,
        syncs: .nan))
  }
}

/// A run of a program that stands beside this one.
struct ToolRun: Sendable, Codable {
  /// The argument with which this program measures another one. A process of its own does that,
  /// since the kernel counts the memory of a program's parent as the program's.
  static let argument = "--tool"

  /// From its start to its end, nanoseconds.
  let time: Double
  /// The most memory that it had at a time.
  let peakBytes: Int
  /// How many lines it wrote.
  let lines: Int
  /// Nanoseconds on a processor.
  let processorTime: Double
  /// What it handed to the system for writing, its lines included.
  let bytesWritten: Double

  /// - Throws: ``CheckFailure`` if it cannot be started, or fails.
  init(_ name: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [Self.argument, name] + arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    try expect(process.terminationStatus, 0, "the status of what runs \(name)")
    self = try JSONDecoder().decode(ToolRun.self, from: text)
  }

  /// Runs a program and prints the figures.
  static func measure(_ name: String, _ arguments: [String]) throws {
    let run = try ToolRun(measuring: name, arguments)
    FileHandle.standardOutput.write(try JSONEncoder().encode(run))
  }

  private init(measuring name: String, _ arguments: [String]) throws {
    let path = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: name).path
    let output = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: output) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, output.path, O_WRONLY | O_CREAT, 0o600)
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let before = Expense.current()
    let watch = Stopwatch()
    var pid: pid_t = 0
    let failure = posix_spawn(&pid, path, &actions, nil, &words, environ)
    if failure != 0 {
      throw CheckFailure(description: "\(name) is not beside this program; swift build makes it")
    }
    var status: Int32 = 0
    var usage = rusage()
    wait4(pid, &status, 0, &usage)
    self.time = watch.nanoseconds()
    if status != 0 { throw CheckFailure(description: "\(name) ended with \(status)") }
    self.peakBytes = usage.ru_maxrss * 1_024
    self.processorTime = Expense.processorTime(of: usage)
    self.bytesWritten = (Expense.current() - before).bytesWritten
    self.lines = try Data(contentsOf: output).count { $0 == 0x0a }
  }
}
