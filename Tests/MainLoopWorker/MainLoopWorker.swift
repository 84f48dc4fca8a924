import CGIO
import Dispatch
import Glibc
import Query
import SystemMainLoop

/// A process whose main thread is in GLib's main loop, so that the tests' own is left alone. The first
/// argument says what it does there, the second by what: `attach` a GLib loop, `run` the library's.
@main
struct MainLoopWorker {
  static func main() async throws {
    let arguments = CommandLine.arguments
    let place = arguments.count > 2 ? arguments[2] : "run"
    switch arguments.count > 1 ? arguments[1] : "" {
    case "hops": try await Self.loop(place) { await Self.hop() }
    case "sleep": try await Self.loop(place) { await Self.sleep() }
    case "states": try await Self.loop(place) { await Self.follow() }
    case "shown": try await Self.loop(place) { await Self.show() }
    case "idle": try await Self.loop(place) { Self.say("ready") }
    case "serve": try await Self.serve()
    case "restore": try await Self.restore()
    case "cancel": try await Self.loop(place) { await Self.cancel() }
    case "quit":
      MainLoop.quit()
      try await Self.loop(place) {
        Self.say("inside")
        MainLoop.quit()
      }
    case "inside": try await Self.loop(place) { await Self.waitInside() }
    case "immediate": try await Self.cancelTheLoopItself()
    case "elsewhere":
      await Task.detached { MainLoop.attachMainActor() }.value
    case "late":
      // The main queue runs nothing before the main function has suspended.
      await withCheckedContinuation { continuation in
        DispatchQueue.main.async { continuation.resume() }
      }
      try await MainLoop.run()
    case "dispatched":
      DispatchQueue.main.async {
        Task.immediate { @MainActor in try await MainLoop.run() }
      }
      _dispatch_main_queue_callback_4CF(nil)
    case "foreign":
      MainLoop.attachMainActor()
      Task { @MainActor in Self.say("never") }
      var thread = pthread_t()
      pthread_create(&thread, nil, iterateForever, nil)
      pthread_join(thread, nil)
    default: exit(64)
    }
  }

  /// Begins a task, and runs a loop until a signal.
  @MainActor
  private static func loop(
    _ place: String, _ body: @escaping @MainActor @Sendable () async -> Void
  ) async throws {
    // Before the loop: what waits already is done, too.
    Task { @MainActor in await body() }
    if place == "attach" {
      MainLoop.attachMainActor()
      MainLoop.attachMainActor()
      let loop = g_main_loop_new(nil, 0)
      g_main_loop_run(loop)
    } else {
      try await MainLoop.run()
      Self.say("ended")
    }
  }

  /// Writes a line at once, also into a pipe.
  static func say(_ line: String) {
    print(line)
    fflush(nil)
  }

  private static var isMain: Bool { cgio_is_main_thread() != 0 }
}

/// What a thread does; outside the type, whose closures would be the main actor's.
private func iterateForever(_ data: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  while true { g_main_context_iteration(nil, 1) }
}

// MARK: - The main actor

extension MainLoopWorker {
  @MainActor private static var hops = 0

  /// A step of the main actor: how many there were, or nil if it is not on the main thread.
  @MainActor
  private static func step() -> Int? {
    Self.hops += 1
    return Self.isMain ? Self.hops : nil
  }

  /// A thousand hops from a background task to the main actor and back.
  private static func hop() async {
    let (right, duration) = await Task.detached {
      var right = 0
      let start = ContinuousClock.now
      for number in 1...1000 where await Self.step() == number { right += 1 }
      return (right, ContinuousClock.now - start)
    }.value
    Self.say("hops \(right)")
    Self.say("a hop \(duration / 1000)")
  }

  @MainActor
  private static func sleep() async {
    for _ in 0..<3 {
      let start = ContinuousClock.now
      try? await Task.sleep(for: .milliseconds(5))
      let isLate = ContinuousClock.now - start >= .milliseconds(5)
      Self.say("woke \(isLate) \(Self.isMain)")
    }
  }

  /// The states of a store whose value a background task changes.
  @MainActor
  private static func follow() async {
    let store = QueryStore.detached(query: BlockQuery(["count"]) { _ in 0 }, initialValue: 0)
    var seen = [Int?]()
    var iterator = store.states.makeAsyncIterator()
    let changing = Task.detached {
      for value in 1...200 { store.currentValue = value }
    }
    while seen.last != 200, let element = await iterator.next() {
      guard Self.isMain else { return Self.say("elsewhere") }
      seen.append(element.state.currentValue)
    }
    await changing.value
    Self.say("states \(seen == Array(0...200))")
  }
}

// MARK: - Ends

extension MainLoopWorker {
  /// Cancels a task that runs the loop inside the loop, and goes on.
  @MainActor
  private static func cancel() async {
    let running = Task { @MainActor in try await MainLoop.run() }
    await Task.yield()
    running.cancel()
    Self.say("inner \(await Self.word(running.result))")
    let cancelled = Task { @MainActor in
      withUnsafeCurrentTask { $0?.cancel() }
      try await MainLoop.run()
    }
    Self.say("cancelled before \(await Self.word(cancelled.result))")
  }

  /// Waits for a signal inside the loop.
  @MainActor
  private static func waitInside() async {
    Task { @MainActor in Self.say("going on") }
    let running = Task.immediate { @MainActor in try await MainLoop.run() }
    Self.say("inner \(await Self.word(running.result)) \(Self.isMain)")
  }

  private static func word(_ result: Result<Void, any Error>) -> String {
    switch result {
    case .success: "ended"
    case .failure(let error): "\(type(of: error))"
    }
  }

  /// Cancels the task in which the main thread runs the loop, from a task of the main actor.
  @MainActor
  private static func cancelTheLoopItself() async throws {
    let running = Task.immediate { @MainActor in
      withUnsafeCurrentTask { task in
        // The task is there while the loop runs in it.
        nonisolated(unsafe) let task = task
        Task { @MainActor in
          Self.say("inside \(Self.isMain)")
          task?.cancel()
        }
      }
      try await MainLoop.run()
    }
    Self.say(Self.word(await running.result))
  }

  /// Runs the loop twice, and then waits without one.
  @MainActor
  private static func restore() async throws {
    for _ in 0..<2 {
      Task { @MainActor in Self.say("ready") }
      try await MainLoop.run()
      Self.say("ended")
    }
    Self.say("waiting")
    while readLine() != nil {}
  }
}
