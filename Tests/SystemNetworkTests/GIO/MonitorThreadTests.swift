import Foundation
import Query
import TestSupport
import Testing

@testable import SystemNetwork

@Suite struct MonitorThreadTests {
  @Test func allWhoAskEarlyGetTheSameFirstStatus() async {
    let monitor = MonitorThread.start()
    let lists = Recorder<StatusList>()
    await runOnThreads(8) { _ in lists.append(monitor.statuses) }
    #expect(lists.elements.allSatisfy { $0 === monitor.statuses })
    monitor.stop()
  }

  @Test func itIsFreedWithItsContextAfterItWasStopped() async {
    weak var released: MonitorThread?
    weak var list: StatusList?
    do {
      let monitor = MonitorThread.start()
      released = monitor
      list = monitor.statuses
      monitor.stop()
    }
    while released != nil { await Task.yield() }
    #expect(list == nil)
  }

  @Test func itMayBeStoppedBeforeItKnowsTheStatus() async {
    weak var released: MonitorThread?
    do {
      let monitor = MonitorThread.start()
      released = monitor
      monitor.stop()
    }
    while released != nil { await Task.yield() }
  }

  /// A service that is silent would keep the thread from it.
  @Test func aCancelledQuestionIsAnsweredBeforeTheFirstStatusWithoutTheThread() throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    // Its thread is never started.
    let monitor = MonitorThread()
    let answers = Recorder<NetworkReachability>()
    Task.immediate {
      withUnsafeCurrentTask { $0?.cancel() }
      answers.append(await monitor.reachability(of: url))
    }
    #expect(answers.elements == [.unknown])
  }

  @Test func oneThreadRunsWhileThereAreSubscribersAndLeavesNoFiles() async {
    // In a process of its own, in which no other test has a monitor.
    await #expect(processExitsWith: .success) {
      let (rounds, files) = (50, Self.fileCount())
      for _ in 0..<rounds {
        let first = SystemNetworkObserver.shared.subscribe { _ in }
        let second = SystemNetworkObserver().subscribe { _ in }
        // A thread of GLib's own has the name of that which started it until it has taken its own.
        while Self.threadCount() != 1 { await Task.yield() }
        first.cancel()
        #expect(Self.threadCount() == 1)
        second.cancel()
        while Self.threadCount() > 0 { await Task.yield() }
      }
      // Less than one a round; the process opens others of its own.
      #expect(Self.fileCount() < files + rounds)
    }
  }

  @Test func observersThatComeAndGoOnManyThreadsLeaveNothing() async {
    await #expect(processExitsWith: .success) {
      let status = SystemNetworkObserver().currentStatus
      await runOnThreads(8) { number in
        let observer = number % 2 == 0 ? SystemNetworkObserver.shared : SystemNetworkObserver()
        for _ in 0..<50 {
          let seen = Recorder<NetworkConnectionStatus>()
          let subscription = observer.subscribe { seen.append($0) }
          #expect(seen.elements.first == status)
          subscription.cancel()
        }
      }
      while Self.threadCount() > 0 { await Task.yield() }
    }
  }

  /// The status is a hint: a program does not end for want of it.
  @Test(.disabled(if: Sanitizer.isOn, "a sanitizer needs memory of its own, beyond the limit"))
  func withoutAThreadTheNetworkIsTried() async {
    await #expect(processExitsWith: .success) {
      let url = try #require(URL(string: "http://localhost/"))
      let memory = __rlimit_resource_t(RLIMIT_AS.rawValue)
      var limit = rlimit()
      try #require(getrlimit(memory, &limit) == 0)
      let before = limit
      // There is no room for a stack.
      limit.rlim_cur = 0
      try #require(setrlimit(memory, &limit) == 0)
      let monitor = MonitorThread.start()
      limit = before
      try #require(setrlimit(memory, &limit) == 0)
      #expect(monitor.statuses.value == .connected)
      let reachability = await monitor.reachability(of: url)
      #expect(reachability == .unknown)
    }
  }

  /// Another one would read all routes once more.
  @Test func aQuestionIsAskedOfTheMonitorThatThereIs() async {
    await #expect(processExitsWith: .success) {
      setenv("GIO_USE_NETWORK_MONITOR", "netlink", 1)
      let url = try #require(URL(string: "http://127.0.0.1/"))
      let monitor = MonitorThread.start()
      _ = await monitor.reachability(of: url)
      var isKept = false
      // A link may change at any time.
      for _ in 0..<50 where !isKept {
        let sockets = Self.sockets()
        // When the second one is asked, all that came with the first one is done.
        for _ in 0..<2 { _ = await monitor.reachability(of: url) }
        isKept = sockets == Self.sockets()
      }
      #expect(isKept)
      monitor.stop()
    }
  }

  /// The numbers of the sockets that this process has open.
  private static func sockets() -> Set<String> {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return Set(
      names.compactMap { name in
        try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
      }.filter { $0.hasPrefix("socket:") })
  }

  /// How many threads of monitors this process has.
  private static func threadCount() -> Int {
    let folder = "/proc/self/task"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return numbers.count { number in
      let name = try? String(contentsOfFile: "\(folder)/\(number)/comm", encoding: .utf8)
      return name == "\(MonitorThread.name)\n"
    }
  }

  /// How many files this process has open.
  private static func fileCount() -> Int {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).count
  }
}
