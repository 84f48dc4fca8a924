import Foundation
import TestSupport
import Testing

/// What the tests with several processes rely on.
@Suite struct ChildProcessTests {
  @Test func itsEndIsItsExitCodeOrItsSignal() async throws {
    let codes = try [0, 1, 255].map { try ChildProcess("/bin/sh", ["-c", "exit \($0)"]) }
    #expect(await codes[0].end() == .code(0))
    #expect(await codes[1].end() == .code(1))
    #expect(await codes[2].end() == .code(255))
    #expect(codes[2].waitUntilEnd() == .code(255))
    let killed = try ChildProcess("/bin/sh", ["-c", "kill -s KILL $$"])
    #expect(await killed.end() == .signal(SIGKILL))
  }

  @Test func whereThereIsNoSuchProgramItIsAnError() {
    let error = #expect(throws: POSIXError.self) { try ChildProcess("/no/such/program") }
    #expect(error?.code == .ENOENT)
  }

  @Test func itHasArgumentsAndAnEnvironmentOfItsOwn() async throws {
    let child = try ChildProcess(
      "/bin/sh", ["-c", #"printf '%s\n' "$1" "$ADDED" "$HOME" "$PATH""#, "sh", "a b"],
      environment: ["ADDED": "=1=", "HOME": "/elsewhere"])
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    #expect(lines == ["a b", "=1=", "/elsewhere", path])
  }

  @Test func itAnswersLineByLineAndSeesTheEndOfItsInput() async throws {
    let child = try ChildProcess("/bin/cat", input: .pipe)
    for number in 0..<3 {
      try child.write("line \(number)\n")
      #expect(await child.line() == "line \(number)")
    }
    try child.write("\nlast\nhalf of one")
    child.closeInput()
    #expect(await child.line() == "")
    #expect(await child.line() == "last")
    #expect(await child.line() == nil)
    #expect(await child.end() == .code(0))
    #expect(throws: POSIXError.self) { try child.write("too late\n") }
  }

  @Test func writingToOneThatHasEndedIsAnError() async throws {
    let child = try ChildProcess("/bin/true", input: .pipe)
    _ = await child.end()
    // Another test's child has a copy of the pipe's other end between its fork and its exec.
    let error = #expect(throws: POSIXError.self) {
      while true { try child.write("nobody reads this\n") }
    }
    #expect(error?.code == .EPIPE)
    child.kill()
    #expect(await child.end() == .code(0))
  }

  @Test func itsErrorsAreApartFromItsOutput() async throws {
    let child = try ChildProcess(
      "/bin/sh", ["-c", "echo output; echo errors >&2; exit 3"], errors: .pipe)
    #expect(await child.errorLine() == "errors")
    #expect(await child.errorLine() == nil)
    #expect(await child.line() == "output")
    let error = #expect(throws: ChildProcess.Failure.self) {
      try ChildProcess.run("/bin/sh", ["-c", "echo errors >&2; exit 3"])
    }
    #expect(error?.description.hasSuffix("code(3): errors") == true)
  }

  @Test func oneThatIsStoppedGoesOnWhereItWasAndCanBeKilled() async throws {
    let child = try ChildProcess("/bin/cat", input: .pipe)
    try child.write("first\n")
    #expect(await child.line() == "first")
    child.send(SIGSTOP)
    await Self.state(of: child, becomes: "T")
    try child.write("second\n")
    child.send(SIGCONT)
    #expect(await child.line() == "second")
    child.send(SIGSTOP)
    await Self.state(of: child, becomes: "T")
    child.kill()
    #expect(await child.end() == .signal(SIGKILL))
  }

  @Test func itEndsWhereItIsAskedTo() async throws {
    let child = try ChildProcess("/bin/cat", input: .pipe)
    child.terminate()
    #expect(await child.end() == .signal(SIGTERM))
  }

  @Test func noneIsLeftThatNobodyHas() async throws {
    var child: ChildProcess? = try ChildProcess("/bin/cat", input: .pipe)
    let pid = try #require(child?.pid)
    #expect(kill(pid, 0) == 0)
    child = nil
    // Neither running nor a zombie.
    while kill(pid, 0) == 0 { await Task.yield() }
    #expect(errno == ESRCH)
  }

  @Test func itHasNoDescriptorsButItsStreams() async throws {
    let other = open("/dev/null", O_RDONLY)
    defer { close(other) }
    let child = try ChildProcess("/bin/sh", ["-c", "echo /proc/self/fd/*"], input: .pipe)
    // The shell's own, for the folder, is among them.
    let line = try #require(await child.line())
    let numbers = line.split(separator: " ").compactMap { Int($0.split(separator: "/")[3]) }
    #expect(numbers.filter { $0 < 10 }.sorted().prefix(3) == [0, 1, 2])
    #expect(numbers.count <= 4)
  }

  /// Returns when the system says that it is in a state.
  private static func state(of child: ChildProcess, becomes state: Character) async {
    while true {
      let text = FileManager.default.contents(atPath: "/proc/\(child.pid)/stat") ?? Data()
      // Its name in brackets comes first.
      let rest = String(decoding: text, as: UTF8.self).split(separator: ") ").last
      if rest?.first == state { return }
      await Task.yield()
    }
  }
}
