import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// What processes leave behind when they end: the texts that their closures have written.
@Suite struct ExitFlushTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private var text: String {
    (try? String(contentsOfFile: "\(self.folder.path)/out", encoding: .utf8)) ?? ""
  }

  @Test func aReturnFromMainRunsThemTheNewestFirst() async {
    await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
      for number in 1...3 { _ = ExitFlush.register { append("\(number)", in: path) } }
    }
    #expect(self.text == "321")
  }

  @Test func exitRunsThemOnAnyThread() async {
    await #expect(processExitsWith: .exitCode(7)) { [path = self.folder.path as String] in
      _ = ExitFlush.register { append("a", in: path) }
      Thread { exit(7) }.start()
      while true { sleep(1) }
    }
    #expect(self.text == "a")
  }

  @Test func anAbruptEndDoesNot() async {
    await #expect(processExitsWith: .exitCode(3)) { [path = self.folder.path as String] in
      _ = ExitFlush.register { append("a", in: path) }
      _exit(3)
    }
    await #expect(processExitsWith: .signal(SIGTERM)) { [path = self.folder.path as String] in
      _ = ExitFlush.register { append("a", in: path) }
      kill(getpid(), SIGTERM)
      while true { sleep(1) }
    }
    #expect(self.text == "")
  }

  @Test func whatWasUnregisteredDoesNotRun() async {
    await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
      let first = ExitFlush.register { append("1", in: path) }
      let second = ExitFlush.register { append("2", in: path) }
      #expect(ExitFlush.unregister(first))
      #expect(!ExitFlush.unregister(first))
      _ = second
    }
    #expect(self.text == "2")
  }

  @Test func aClosureMayRegisterAndUnregister() async {
    await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
      let first = ExitFlush.register { append("1", in: path) }
      _ = ExitFlush.register {
        append("2", in: path)
        ExitFlush.unregister(first)
        _ = ExitFlush.register { append("3", in: path) }
      }
    }
    #expect(self.text == "23")
  }

  @Test func manyThreadsRegisterAndEachClosureRunsOnce() async {
    await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
      DispatchQueue.concurrentPerform(iterations: 100) { number in
        let token = ExitFlush.register { append("x", in: path) }
        if number % 2 == 0 { ExitFlush.unregister(token) }
      }
    }
    #expect(self.text == String(repeating: "x", count: 50))
  }

  /// What it needs is closed: its failure would end the program before the others have run.
  @Test func aCallThatFailsWhileAnotherThreadExitsDoesNotGoOn() async {
    await #expect(processExitsWith: .exitCode(7)) { [path = self.folder.path as String] in
      let hasBegun = DispatchSemaphore(value: 0)
      _ = ExitFlush.register { append("1", in: path) }
      _ = ExitFlush.register {
        hasBegun.signal()
        hasBegun.signal()
        // The thread that exits would wait for itself.
        ExitFlush.waitForEnd()
        append("2", in: path)
      }
      Thread {
        hasBegun.wait()
        ExitFlush.waitForEnd()
        _exit(8)
      }.start()
      Thread {
        hasBegun.wait()
        Task.detached {
          await ExitFlush.untilEnd()
          _exit(9)
        }
      }.start()
      // Nobody exits yet.
      ExitFlush.waitForEnd()
      await ExitFlush.untilEnd()
      exit(7)
    }
    #expect(self.text == "21")
  }

  /// What it changes is written, too: the stores are still there, and are flushed after it.
  @Test func aHandlerOfTheProgramThatCameAfterTheFirstRunsBeforeThemAll() async {
    await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
      folderOfTheHandler.withLock { $0 = path }
      _ = ExitFlush.register { append("1", in: path) }
      atexit { append("x", in: folderOfTheHandler.withLock { $0 }) }
      _ = ExitFlush.register { append("2", in: path) }
    }
    #expect(self.text == "x21")
  }

  @Test func whatIsUnregisteredIsReleased() {
    final class Probe: Sendable {}
    var probe: Probe? = Probe()
    weak let seen = probe
    let token = ExitFlush.register { [probe] in withExtendedLifetime(probe) {} }
    probe = nil
    #expect(seen != nil)
    ExitFlush.unregister(token)
    #expect(seen == nil)
  }
}

/// A handler of `atexit` has no context.
private let folderOfTheHandler = Locked("")

/// Adds a text to the file that the test reads.
private func append(_ text: String, in folder: String) {
  let descriptor = open("\(folder)/out", O_WRONLY | O_CREAT | O_APPEND, 0o600)
  _ = write(descriptor, text, text.utf8.count)
  close(descriptor)
}
