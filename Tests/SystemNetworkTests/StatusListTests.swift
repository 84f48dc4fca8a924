import Foundation
import Query
import TestSupport
import Testing

@testable import SystemNetwork

@Suite struct StatusListTests {
  @Test func theStatusNowComesAtOnceAndThenEachChangeInOrder() {
    let list = StatusList(.disconnected)
    let seen = Recorder<NetworkConnectionStatus>()
    let subscription = list.subscribe { seen.append($0) }
    #expect(seen.elements == [.disconnected])
    list.send(.connected)
    list.send(.requiresConnection)
    list.send(.connected)
    #expect(seen.elements == [.disconnected, .connected, .requiresConnection, .connected])
    subscription.cancel()
    list.send(.disconnected)
    #expect(seen.count == 4)
    #expect(list.value == .disconnected)
  }

  @Test func aStatusThatIsTheSameIsNotTold() {
    let list = StatusList(.connected)
    let seen = Recorder<NetworkConnectionStatus>()
    let subscription = list.subscribe { seen.append($0) }
    list.send(.connected)
    list.send(.disconnected)
    list.send(.disconnected)
    #expect(seen.elements == [.connected, .disconnected])
    subscription.cancel()
  }

  @Test func whatAHandlerSendsComesAfterWhatItIsToldOf() {
    let list = StatusList(.disconnected)
    let seen = Recorder<NetworkConnectionStatus>()
    let first = list.subscribe { if $0 == .requiresConnection { list.send(.connected) } }
    let second = list.subscribe { seen.append($0) }
    list.send(.requiresConnection)
    #expect(seen.elements == [.disconnected, .requiresConnection, .connected])
    first.cancel()
    second.cancel()
  }

  @Test func noLockIsHeldWhileAHandlerRuns() async {
    let list = StatusList(.disconnected)
    let isCalled = Recorder<Void>()
    let isDone = Recorder<Void>()
    await runOnThreads(2) { number in
      if number == 0 {
        let subscription = list.subscribe { status in
          guard status == .connected else { return }
          isCalled.append(())
          // Until the other thread has used the list.
          while isDone.count == 0 { sched_yield() }
        }
        list.send(.connected)
        subscription.cancel()
      } else {
        while isCalled.count == 0 { sched_yield() }
        list.subscribe { _ in }.cancel()
        #expect(list.value == .connected)
        isDone.append(())
      }
    }
    #expect(isDone.count == 1)
  }

  @Test func aHandlerMayCancelItsOwnSubscription() {
    let list = StatusList(.disconnected)
    let seen = Recorder<NetworkConnectionStatus>()
    let kept = Locked(QuerySubscription.empty)
    let subscription = list.subscribe { status in
      seen.append(status)
      if status == .connected { kept.withLock { $0 }.cancel() }
    }
    kept.withLock { $0 = subscription }
    list.send(.connected)
    list.send(.disconnected)
    #expect(seen.elements == [.disconnected, .connected])
  }

  @Test func allSubscribersOnManyThreadsEndWithTheLastStatus() async {
    let list = StatusList(.disconnected)
    let statuses: [NetworkConnectionStatus] = [.connected, .requiresConnection, .disconnected]
    let recorders = (0..<8).map { _ in Recorder<NetworkConnectionStatus>() }
    let kept = Recorder<QuerySubscription>()
    await runOnThreads(9) { number in
      if number == 8 {
        for index in 0..<3_000 { list.send(statuses[index % 3]) }
      } else {
        for _ in 0..<100 { list.subscribe { _ in }.cancel() }
        kept.append(list.subscribe { recorders[number].append($0) })
      }
    }
    for recorder in recorders {
      let seen = recorder.elements
      #expect(seen.last == .disconnected)
      #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 != $1 })
    }
    for subscription in kept.elements { subscription.cancel() }
  }

  @Test func aHandlerIsReleasedWithItsSubscription() {
    let list = StatusList(.connected)
    var object: Counter? = Counter()
    weak let released = object
    let subscription = list.subscribe { [object] _ in object?.increment() }
    object = nil
    #expect(released?.value == 1)
    subscription.cancel()
    #expect(released == nil)
  }
}
