import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct NetworkObserverTests {
  @Test func aMockIsConnectedUntilItIsToldOtherwise() {
    #expect(MockNetworkObserver().currentStatus == .connected)
    let observer = MockNetworkObserver(initialStatus: .disconnected)
    #expect(observer.currentStatus == .disconnected)
    observer.send(status: .requiresConnection)
    #expect(observer.currentStatus == .requiresConnection)
  }

  @Test func aSubscriberGetsTheCurrentStatusAndEveryOneThatIsSent() {
    let observer = MockNetworkObserver(initialStatus: .disconnected)
    let seen = Recorder<NetworkConnectionStatus>()
    let subscription = observer.subscribe { seen.append($0) }
    observer.send(status: .connected)
    observer.send(status: .connected)
    #expect(seen.elements == [.disconnected, .connected, .connected])
    subscription.cancel()
    observer.send(status: .disconnected)
    #expect(seen.count == 3)
  }

  @Test func aSubscriberGetsWhetherItIsMeteredNowAndEachTimeItIsSent() {
    let observer = MockNetworkObserver()
    observer.send(isMetered: true)
    let seen = Recorder<Bool>()
    let subscription = observer.subscribeToCost { seen.append($0) }
    #expect(seen.elements == [true])
    observer.send(isMetered: false)
    #expect(seen.elements == [true, false])
    #expect(!observer.isMetered)
    subscription.cancel()
    observer.send(isMetered: true)
    #expect(seen.count == 2)
  }

  @Test func subscribersAreCounted() {
    let observer = MockNetworkObserver()
    #expect(observer.subscriberCount == 0)
    let first = observer.subscribe { _ in }
    var second: QuerySubscription? = observer.subscribe { _ in }
    #expect(observer.subscriberCount == 2)
    first.cancel()
    first.cancel()
    #expect(observer.subscriberCount == 1)
    #expect(second != nil)
    second = nil
    #expect(observer.subscriberCount == 0)
  }

  @Test func noLockIsHeldWhileAHandlerRuns() {
    let observer = MockNetworkObserver(initialStatus: .disconnected)
    let results = Recorder<Bool>()
    let subscription = observer.subscribe { _ in
      results.append(
        isDoneElsewhere {
          observer.subscribe { _ in }.cancel()
          _ = observer.currentStatus
        }
      )
    }
    observer.send(status: .connected)
    #expect(results.elements == [true, true])
    subscription.cancel()
  }

  @Test func whatAHandlerSendsComesAfterWhatItIsToldOf() {
    let observer = MockNetworkObserver(initialStatus: .disconnected)
    let seen = Recorder<NetworkConnectionStatus>()
    let first = observer.subscribe { status in
      if status == .requiresConnection { observer.send(status: .connected) }
    }
    let second = observer.subscribe { seen.append($0) }
    observer.send(status: .requiresConnection)
    #expect(seen.elements == [.disconnected, .requiresConnection, .connected])
    first.cancel()
    second.cancel()
  }

  @Test func theLastStatusThatAHandlerGetsIsTheCurrentOne() async {
    for _ in 0..<200 {
      let observer = MockNetworkObserver(initialStatus: .disconnected)
      let subscriptions = Locked([QuerySubscription]())
      let seen = (0..<2).map { _ in Recorder<NetworkConnectionStatus>() }
      await runOnThreads(3) { thread in
        if thread < 2 {
          let subscription = observer.subscribe { seen[thread].append($0) }
          subscriptions.withLock { $0.append(subscription) }
        }
        observer.send(status: thread == 0 ? .requiresConnection : .connected)
        observer.send(status: thread == 1 ? .disconnected : .requiresConnection)
      }
      #expect(seen.map { $0.elements.last } == [observer.currentStatus, observer.currentStatus])
    }
  }
}
