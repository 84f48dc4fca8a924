import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct MainLoopTests {
  private func worker(_ arguments: String..., errors: ChildProcess.Stream = .inherited)
    throws -> ChildProcess
  {
    try ChildProcess(
      ChildProcess.product("main-loop-worker"), arguments, input: .pipe, errors: errors)
  }

  // MARK: - The main actor

  @Test(arguments: ["attach", "run"])
  func aBackgroundTaskHopsToTheMainActorAndBack(place: String) async throws {
    let worker = try self.worker("hops", place)
    #expect(await worker.line() == "hops 1000")
    print("In \(place):", await worker.line() ?? "")
  }

  @Test(arguments: ["attach", "run"])
  func aSleepOnTheMainActorWakesThere(place: String) async throws {
    let worker = try self.worker("sleep", place)
    for _ in 0..<3 { #expect(await worker.line() == "woke true true") }
  }

  @Test(arguments: ["attach", "run"])
  func eachStateOfAStoreComesInOrder(place: String) async throws {
    let worker = try self.worker("states", place)
    #expect(await worker.line() == "states true")
  }

  @Test(arguments: ["attach", "run"])
  func whatIsFollowedIsShownAtOnceAndAfterTheFrameThatIsDue(place: String) async throws {
    let worker = try self.worker("shown", place)
    #expect(await worker.line() == "at once true")
    #expect(await worker.line() == "the last one, in order true")
    #expect(await worker.line() == "after the frame true")
    #expect(await worker.line() == "after its end true")
  }

  // MARK: - Ends

  @Test(arguments: [SIGTERM, SIGINT])
  func aSignalEndsTheLoopInOrder(signal: Int32) async throws {
    let worker = try self.worker("idle", "run")
    #expect(await worker.line() == "ready")
    worker.send(signal)
    #expect(await worker.line() == "ended")
    #expect(await worker.end() == .code(0))
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func aSignalAfterTheLoopEndsTheProcessAsByDefault(signal: Int32) async throws {
    let worker = try self.worker("restore")
    for _ in 0..<2 {
      #expect(await worker.line() == "ready")
      worker.send(signal)
      #expect(await worker.line() == "ended")
    }
    #expect(await worker.line() == "waiting")
    worker.send(signal)
    #expect(await worker.end() == .signal(signal))
  }

  /// What the article on services says of systemd, with sockets of both kinds that it names.
  @Test(arguments: [false, true])
  func aServiceTellsSystemdHowItIs(hasAbstractName: Bool) async throws {
    let folder = try ScratchFolder()
    let socket = try ServiceManagerSocket(
      name: hasAbstractName ? "@\(folder.url.path)" : "\(folder.url.path)/notify")
    let worker = try ChildProcess(
      ChildProcess.product("main-loop-worker"), ["serve"],
      environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "20000"], input: .pipe)
    var told = [socket.receive(), socket.receive(), socket.receive()]
    #expect(told.contains("READY=1"))
    #expect(told.count { $0 == "WATCHDOG=1" } == 2)
    worker.send(SIGTERM)
    while told.last != "STOPPING=1", told.last != "" { told.append(socket.receive()) }
    #expect(told.last == "STOPPING=1")
    #expect(await worker.end() == .code(0))
  }

  @Test func cancellingTheTaskEndsTheLoop() async throws {
    let worker = try self.worker("immediate")
    #expect(await worker.line() == "inside true")
    #expect(await worker.line() == "CancellationError")
    #expect(await worker.end() == .code(0))
  }

  @Test(arguments: ["attach", "run"])
  func aCallInsideALoopWaitsForItsCancellationAndHoldsUpNothing(place: String) async throws {
    let worker = try self.worker("cancel", place)
    #expect(await worker.line() == "inner CancellationError")
    #expect(await worker.line() == "cancelled before CancellationError")
    guard place == "run" else { return }
    worker.terminate()
    #expect(await worker.line() == "ended")
  }

  @Test func quittingEndsTheLoopThatRuns() async throws {
    let worker = try self.worker("quit")
    #expect(await worker.line() == "inside")
    #expect(await worker.line() == "ended")
    #expect(await worker.end() == .code(0))
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func aSignalEndsACallInsideALoopAndNotTheLoop(signal: Int32) async throws {
    let worker = try self.worker("inside", "attach")
    #expect(await worker.line() == "going on")
    worker.send(signal)
    #expect(await worker.line() == "inner ended true")
    worker.send(signal)
    #expect(await worker.end() == .signal(signal))
  }

  // MARK: - Misuse

  @Test(arguments: [
    ("elsewhere", "MainLoop.attachMainActor() was called on another thread than the main one"),
    ("late", "MainLoop.run() was called on another thread than the main one, or after the main"),
    ("dispatched", "MainLoop.run() was called in a task that another loop than GLib's runs"),
    ("foreign", "GLib's main loop runs on another thread than the main one"),
  ])
  func misuseEndsTheProgramWithASentence(mode: String, sentence: String) async throws {
    let worker = try self.worker(mode, errors: .pipe)
    var said = false
    for await line in worker.errorLines where line.contains(sentence) { said = true }
    // An optimised program ends without the sentence.
    #if DEBUG
      #expect(said)
    #endif
    let end = await worker.end()
    guard case .signal = end else {
      Issue.record("It ended with \(end).")
      return
    }
  }
}
