import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Query

@Suite struct EventMailboxTests {
  private typealias Link = EventLink<QueryState<Int?, Int>>
  private typealias Event = StoreEvent<QueryState<Int?, Int>>

  private static func mailbox(
    at link: Link,
    isClaimed: Bool = false,
    _ body: @escaping @Sendable (Int?) -> Void
  ) -> EventMailbox<QueryState<Int?, Int>> {
    EventMailbox(
      handler: StoreHandler(onStateChanged: { state, _ in body(state.currentValue) }),
      position: link,
      isClaimed: isClaimed
    )
  }

  /// Logs values, and returns the new end of the log.
  @discardableResult
  private static func log(_ values: Int..., at link: Link) -> Link {
    values.reduce(link) { link, value in
      let next = Link()
      let state = QueryState<Int?, Int>(initialValue: value)
      link.fill(with: Event(.stateChanged, state: state, context: QueryContext()), next: next)
      return next
    }
  }

  @Test func eachMailboxSeesTheLogFromItsPositionOn() {
    let start = Link()
    let values = [Recorder<Int?>(), Recorder<Int?>()]
    let first = Self.mailbox(at: start) { values[0].append($0) }
    let middle = Self.log(1, 2, at: start)
    let second = Self.mailbox(at: middle) { values[1].append($0) }
    Self.log(3, at: middle)
    first.deliver()
    second.deliver()
    first.deliver()
    #expect(values[0].elements == [1, 2, 3])
    #expect(values[1].elements == [3])
  }

  @Test func aClaimedMailboxDeliversForItsClaimantAlone() {
    let start = Link()
    let values = Recorder<Int?>()
    let mailbox = Self.mailbox(at: start, isClaimed: true) { values.append($0) }
    Self.log(1, 2, at: start)
    mailbox.deliver()
    #expect(values.elements == [])
    mailbox.deliverClaimed()
    #expect(values.elements == [1, 2])
  }

  @Test func aStoppedMailboxSeesNothingThatIsLoggedLater() async {
    let start = Link()
    let values = Recorder<Int?>()
    let mailbox = Self.mailbox(at: start) { values.append($0) }
    let end = Self.log(1, 2, at: start)
    mailbox.stop(before: end)
    Self.log(3, at: end)
    await mailbox.waitUntilDelivered()
    mailbox.deliver()
    #expect(values.elements == [1, 2])
    await mailbox.waitUntilDelivered()
  }

  @Test func aStopThatComesWhileTheLastEventIsDeliveredIsSeen() async {
    let start = Link()
    let values = Recorder<Int?>()
    let mailbox = Box<EventMailbox<QueryState<Int?, Int>>?>(nil)
    mailbox.value = Self.mailbox(at: start) { value in
      values.append(value)
      guard value == 1, let end = start.nextLink?.takeUnretainedValue() else { return }
      mailbox.value?.stop(before: end)
      Self.log(2, at: end)
    }
    Self.log(1, at: start)
    mailbox.value?.deliver()
    #expect(values.elements == [1])
    mailbox.value = nil
  }

  @Test func aCancelledMailboxLetsGoOfTheLog() {
    var start: Link? = Link()
    weak let released = start
    let mailbox = start.map { Self.mailbox(at: $0) { _ in } }
    start = nil
    #expect(released != nil)
    mailbox?.cancel()
    #expect(released == nil)
    mailbox?.deliver()
  }

  @Test func whoCancelsKnowsOfTheCallUnderWayAndNoOtherBegins() async {
    let start = Link()
    let (calls, canReturn) = (Recorder<Int?>(), DispatchSemaphore(value: 0))
    let mailbox = Self.mailbox(at: start) { value in
      calls.append(value)
      canReturn.wait()
    }
    Self.log(1, 2, at: start)
    let delivery = Task { await runOnThreads(1) { _ in mailbox.deliver() } }
    await calls.wait(forCount: 1)
    #expect(mailbox.cancel())
    canReturn.signal()
    await delivery.value
    #expect(calls.elements == [1])
    #expect(!mailbox.cancel(), "no call is under way any more")
  }

  @Test func whoCancelsBetweenCallsKnowsThatNoneIsUnderWay() {
    let start = Link()
    let values = Recorder<Int?>()
    let mailbox = Self.mailbox(at: start) { values.append($0) }
    let end = Self.log(1, at: start)
    mailbox.deliver()
    #expect(!mailbox.cancel())
    Self.log(2, at: end)
    mailbox.deliver()
    #expect(values.elements == [1])
  }

  @Test func deliveryIsInOrderAndByOneThreadAtATime() async {
    let start = Link()
    let values = Recorder<Int?>()
    let isInside = Atomic(false)
    let mailbox = Self.mailbox(at: start) { value in
      let wasInside = isInside.exchange(true, ordering: .acquiringAndReleasing)
      #expect(!wasInside)
      values.append(value)
      isInside.store(false, ordering: .releasing)
    }
    let end = Locked((link: start, count: 0))
    await runOnThreads(4) { _ in
      for _ in 0..<500 {
        end.withLock { end in
          end.count += 1
          end.link = Self.log(end.count, at: end.link)
        }
        mailbox.deliver()
      }
    }
    // A thread that delivered for long leaves the rest to a task.
    await values.wait(forCount: 2_000)
    #expect(values.elements == Array(1...2_000))
  }

  @Test func aLongLogIsReleasedWithoutRecursion() {
    var start: Link? = Link()
    weak let released = start
    var end = start
    for value in 0..<200_000 { end = end.map { Self.log(value, at: $0) } }
    start = nil
    #expect(released == nil)
    withExtendedLifetime(end) {}
  }
}
