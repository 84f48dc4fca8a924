import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct RecipientListTests {
  private let hub = RecipientList<OutboxEvent>()
  private let heard = Recorder<OutboxEvent>()
  private let ids = (0..<100).map { _ in UUID() }

  @Test func postingCallsNobodyAndDeliveringDoes() {
    let subscription = self.hub.subscribe { [heard] in heard.append($0) }
    self.hub.post([.enqueued(self.ids[0]), .claimed(self.ids[0])])
    #expect(self.heard.elements == [])
    self.hub.deliver()
    #expect(self.heard.elements == [.enqueued(self.ids[0]), .claimed(self.ids[0])])
    self.hub.deliver()
    #expect(self.heard.count == 2)
    subscription.cancel()
  }

  @Test func whatWasPostedBeforeASubscriptionIsNotForIt() {
    self.hub.post([.released])
    let subscription = self.hub.subscribe { [heard] in heard.append($0) }
    self.hub.deliver()
    #expect(self.heard.elements == [])
    subscription.cancel()
  }

  @Test func whatARecipientStartsWithIsDeliveredByTheThreadThatAddsIt() {
    let addition = self.hub.add({ [heard] in heard.append($0) }, startingWith: [.released])
    self.hub.post([.erased])
    // As another thread may, which would call the handler when the adding one has gone on.
    self.hub.deliver()
    #expect(self.heard.elements == [])
    addition.deliver()
    #expect(self.heard.elements == [.released, .erased])
    self.hub.post([.released])
    self.hub.deliver()
    #expect(self.heard.count == 3)
    self.hub.subscription(of: addition).cancel()
  }

  @Test func whatASubscriberPostsItGetsAfterThisCall() {
    let hub = self.hub
    let ids = self.ids
    let depth = Recorder<Int>()
    let running = Locked(0)
    let subscription = hub.subscribe { [heard] event in
      depth.append(
        running.withLock {
          $0 += 1
          return $0
        })
      if event == .enqueued(ids[0]) {
        hub.post([.cancelled(ids[0])])
        hub.deliver()
      }
      heard.append(event)
      running.withLock { $0 -= 1 }
    }
    hub.post([.enqueued(ids[0])])
    hub.deliver()
    #expect(self.heard.elements == [.enqueued(ids[0]), .cancelled(ids[0])])
    #expect(depth.elements == [1, 1])
    subscription.cancel()
  }

  @Test func aSubscriberThatLeavesInACallGetsNoMore() {
    let subscription = Locked(QuerySubscription.empty)
    let own = self.hub.subscribe { [heard] event in
      heard.append(event)
      subscription.withLock { $0 }.cancel()
    }
    subscription.withLock { $0 = own }
    self.hub.post([.released, .erased])
    self.hub.deliver()
    #expect(self.heard.elements == [.released])
  }

  @Test func severalThreadsKeepTheOrderOfPosting() async {
    let order = Locked([OutboxEvent]())
    let (hub, ids) = (self.hub, self.ids)
    let subscription = hub.subscribe { [heard] in heard.append($0) }
    await runOnThreads(4) { thread in
      for index in 0..<25 {
        let event = OutboxEvent.enqueued(ids[thread * 25 + index])
        order.withLock {
          $0.append(event)
          hub.post([event])
        }
        hub.deliver()
      }
    }
    #expect(self.heard.elements == order.withLock { $0 })
    subscription.cancel()
  }
}
