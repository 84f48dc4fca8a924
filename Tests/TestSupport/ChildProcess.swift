import Foundation
import Query

/// A program that a test has started. It is killed with the last reference to it, so that none is
/// left.
///
/// ```swift
/// let child = try ChildProcess(ChildProcess.product("storage-worker"), ["read", folder])
/// for await line in child.lines { print(line) }
/// #expect(await child.end() == .code(0))
/// ```
/// Foundation's `Process` is not used: it reads beyond a directory entry as it looks for open
/// descriptors, at which the address sanitizer ends the tests. Pipes are read, and the end is waited
/// for, by threads of their own, so that no task's thread is blocked.
public final class ChildProcess: Sendable {
  /// How a program ended.
  public enum End: Hashable, Sendable {
    /// By itself, with an exit code.
    case code(Int32)
    /// By a signal.
    case signal(Int32)
  }

  /// What a standard stream of the program is.
  public enum Stream: Sendable {
    /// `/dev/null`.
    case null
    /// The tests' own.
    case inherited
    /// A pipe to the test.
    case pipe
  }

  /// The number of the process.
  public let pid: Int32

  private let ending: ChildEnding
  private let input: Locked<Descriptor?>
  private let output: LineQueue
  private let errors: LineQueue

  /// Starts a program. It has no other descriptors than its three streams, no blocked signals, and
  /// ignores none.
  ///
  /// - Parameters:
  ///   - executable: The path.
  ///   - arguments: What follows the name of the program.
  ///   - environment: What is otherwise than in the environment of the tests.
  ///   - input: The standard input; a pipe is written by ``write(_:)``.
  ///   - output: The standard output; a pipe is read by ``lines``.
  ///   - errors: The standard error; a pipe is read by ``errorLines``.
  /// - Throws: `POSIXError` if there is no such program, or no descriptor left.
  public init(
    _ executable: String,
    _ arguments: [String] = [],
    environment: [String: String] = [:],
    input: Stream = .null,
    output: Stream = .pipe,
    errors: Stream = .inherited
  ) throws {
    let streams = try [input, output, errors].enumerated().map { number, stream in
      try ChildStream(stream, as: Int32(number))
    }
    let launch = ChildLaunch(
      executable: executable, arguments: arguments,
      environment: ProcessInfo.processInfo.environment
        .merging(Sanitizer.environment) { $1 }.merging(environment) { $1 },
      streams: streams.map(\.child))
    self.pid = try launch.start()
    self.ending = ChildEnding(of: self.pid)
    self.input = Locked(streams[0].ours)
    self.output = LineQueue(reading: streams[1].ours)
    self.errors = LineQueue(reading: streams[2].ours)
  }

  deinit { self.ending.send(SIGKILL) }
}

// MARK: - Streams

extension ChildProcess {
  /// Writes to the standard input. Waits if the program does not read and the pipe is full.
  ///
  /// - Throws: `POSIXError`: `EPIPE` if the program has ended, `EBADF` if its input is not a pipe,
  ///   or was closed.
  public func write(_ text: String) throws {
    try self.input.withLock { input in
      guard let input else { throw POSIXError(.EBADF) }
      try input.write(Array(text.utf8))
    }
  }

  /// Closes the standard input, so that the program reads its end.
  public func closeInput() { self.input.withLock { $0 = nil } }

  /// Waits for the next line of the standard output; nil at its end. A last line that has no line feed
  /// is left out: a killed program may have written half of it.
  public func line() async -> String? { await self.output.next() }

  /// Waits for the next line of the standard error; nil at its end.
  public func errorLine() async -> String? { await self.errors.next() }

  /// The lines of the standard output that nobody has taken yet, to its end.
  public var lines: AsyncStream<String> { AsyncStream { await self.line() } }

  /// The lines of the standard error that nobody has taken yet, to its end.
  public var errorLines: AsyncStream<String> { AsyncStream { await self.errorLine() } }
}

// MARK: - Ending

extension ChildProcess {
  /// Sends a signal, if the program has not ended. A program stopped by `SIGSTOP` goes on with
  /// `SIGCONT`.
  public func send(_ signal: Int32) { self.ending.send(signal) }

  /// Stops it by `SIGSTOP`, and returns when each of its threads stands still.
  public func stop() async {
    self.send(SIGSTOP)
    while self.endSoFar == nil, !self.isStopped { await Task.yield() }
  }

  private var isStopped: Bool {
    let folder = URL(filePath: "/proc/\(self.pid)/task")
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return !threads.isEmpty
      && threads.allSatisfy { thread in
        // The state stands behind the name, which may have spaces and brackets.
        let file = folder.appending(path: "\(thread)/stat")
        let stat = try? String(contentsOf: file, encoding: .utf8)
        return stat?.split(separator: ")").last?.hasPrefix(" T") ?? true
      }
  }

  /// Asks it to end.
  public func terminate() { self.send(SIGTERM) }

  /// Kills it, so that it has no time for anything.
  public func kill() { self.send(SIGKILL) }

  /// Waits for its end, and kills it if the task is cancelled: a test whose time is up would wait for
  /// ever else.
  public func end() async -> End {
    await withTaskCancellationHandler {
      await self.ending.end.value()
    } onCancel: {
      self.kill()
    }
  }

  /// How it ended, if it has.
  public var endSoFar: End? { self.ending.end.current }

  /// Waits for its end on this thread: for a program that ends at once, if nothing can be awaited.
  public func waitUntilEnd() -> End { self.ending.end.wait() }

  /// Runs a program that ends at once to its end on this thread, if nothing can be awaited.
  ///
  /// - Throws: ``Failure`` with what it wrote to the standard error, if it fails; what
  ///   ``init(_:_:environment:input:output:errors:)`` throws.
  public static func run(_ executable: String, _ arguments: [String]) throws {
    let child = try ChildProcess(executable, arguments, output: .null, errors: .pipe)
    let end = child.waitUntilEnd()
    if end == .code(0) { return }
    let command = ([executable] + arguments).joined(separator: " ")
    let errors = child.errors.waitForAll().joined(separator: "\n")
    throw Failure(description: "\(command): \(end): \(errors)")
  }

  /// A program that did not do what a test needs.
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }
}

// MARK: - Programs

extension ChildProcess {
  /// The path of an executable product of this package. It is beside the tests.
  ///
  /// - Throws: ``Failure`` if it is not built.
  public static func product(_ name: String) throws -> String {
    // The tests are an executable, or a bundle that another executable has loaded.
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    let paths = ([own] + Bundle.allBundles.map(\.bundleURL)).map {
      $0.deletingLastPathComponent().appending(path: name).path
    }
    guard let path = paths.first(where: FileManager.default.isExecutableFile) else {
      throw Failure(description: "\(name) is not built with the tests")
    }
    return path
  }

  /// The path of a program of the system, or nil.
  public static func system(_ name: String) -> String? {
    ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map { "\($0)/\(name)" }
      .first(where: FileManager.default.isExecutableFile)
  }
}
