import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct PressureStallSourceTests {
  private static let isOffered = PressureStallSource() != nil

  @Test func aMissingFileIsNotOffered() {
    #expect(PressureStallSource(path: "/proc/pressure/no such file") == nil)
  }

  @Test func aFolderIsNotOffered() {
    #expect(PressureStallSource(path: "/proc") == nil)
  }

  @Test func aFileOfTheKernelThatIsNoTriggerIsNotOffered() {
    #expect(PressureStallSource(path: "/dev/null") == nil)
    #expect(PressureStallSource(path: "/proc/version") == nil)
  }

  @Test func anOrdinaryFileIsNotOfferedAndNotWritten() throws {
    let file = FileManager.default.temporaryDirectory
      .appendingPathComponent("pressure-\(ProcessInfo.processInfo.processIdentifier)")
    let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    for content in [text, "text of somebody else's", ""] {
      try Data(content.utf8).write(to: file)
      #expect(PressureStallSource(path: file.path) == nil)
      #expect(try String(contentsOf: file, encoding: .utf8) == content)
    }
    try FileManager.default.removeItem(at: file)
  }

  @Test func theSharedSourceIsThereWhereTheKernelOffersIt() {
    let shared: PressureStallSource? = .pressureStall
    #expect((shared != nil) == Self.isOffered)
  }

  @Test func aCacheListensToNothingInsideTests() {
    #expect(QueryClient.DefaultStoreCache.defaultMemoryPressureSource == nil)
  }

  @Test(.enabled(if: isOffered, "the kernel offers no pressure-stall information for memory"))
  func aNewClientTakesNoTrigger() async {
    await #expect(processExitsWith: .success) {
      let source = try #require(PressureStallSource())
      let client = QueryClient(
        storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: source))
      _ = client.store(for: ProbeQuery())
      #expect(Self.triggerCount() == 0)
    }
  }

  // MARK: - With the kernel

  @Test(.enabled(if: isOffered, "the kernel offers no pressure-stall information for memory"))
  func oneThreadWatchesWhileThereAreSubscribers() async throws {
    let source = try #require(PressureStallSource())
    let before = Self.triggerCount()
    let subscriptions = (0..<3).map { _ in source.subscribe { _ in } }
    // Other tests may have a watch of the shared source at the same time.
    #expect(Self.triggerCount() >= before + 1 || Self.triggerCount() >= 1)
    for subscription in subscriptions { subscription.cancel() }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test(.enabled(if: isOffered, "the kernel offers no pressure-stall information for memory"))
  func itCanBeStartedAndStoppedAgainAndAgain() async {
    // In a process of its own, in which no other test opens or closes files.
    await #expect(processExitsWith: .success) {
      let source = try #require(PressureStallSource())
      #expect(Self.triggerCount() == 0)
      for _ in 0..<20 {
        let first = source.subscribe { _ in }
        let second = source.subscribe { _ in }
        #expect(Self.triggerCount() == 1)
        first.cancel()
        #expect(Self.triggerCount() == 1)
        second.cancel()
        // The thread closes the files when it sees that it is to stop.
        while Self.triggerCount() > 0 { await Task.yield() }
      }
    }
  }

  @Test(.enabled(if: isOffered, "the kernel offers no pressure-stall information for memory"))
  func aSubscriptionKeepsItsSource() async throws {
    var source = PressureStallSource()
    weak let kept = source
    var subscription: QuerySubscription? = try #require(source).subscribe { _ in }
    source = nil
    #expect(kept != nil)
    #expect(subscription != nil)
    subscription = nil
    #expect(kept == nil)
  }

  /// Of processors the kernel tells likewise, and those a test can keep busy.
  private static let processors = "/proc/pressure/cpu"

  @Test(
    .enabled(
      if: PressureStallSource(path: processors) != nil,
      "the kernel offers no pressure-stall information for processors"))
  func itGoesOnWhenTheTimeToMeasureIsOver() async throws {
    let source = try #require(PressureStallSource(path: Self.processors))
    let felt = Recorder<MemoryPressure>()
    let subscription = source.subscribe { felt.append($0) }
    await Self.whileProcessorsAreBusy { await felt.wait { $0.contains(.warning) } }
    // Two seconds after the kernel has told of it, the source looks by itself.
    try await Task.sleep(for: .seconds(2.5))
    let before = felt.count
    await Self.whileProcessorsAreBusy {
      await felt.wait { $0.dropFirst(before).contains(.warning) }
    }
    subscription.cancel()
  }

  /// Runs a closure while more threads want a processor than there are, at the least priority.
  private static func whileProcessorsAreBusy(_ body: () async -> Void) async {
    let isOver = Locked(false)
    for _ in 0..<2 * ProcessInfo.processInfo.activeProcessorCount {
      startThread("busy") {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        while !isOver.withLock({ $0 }) {}
      }
    }
    await body()
    isOver.withLock { $0 = true }
  }

  /// How many descriptors of the kernel's file this process has.
  private static func triggerCount() -> Int {
    let folder = "/proc/self/fd"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return numbers.count { number in
      let target = try? FileManager.default.destinationOfSymbolicLink(
        atPath: "\(folder)/\(number)"
      )
      return target == "/proc/pressure/memory"
    }
  }
}
