import Foundation
import Query
import TestSupport
import Testing

@testable import SystemNetwork

@Suite struct SystemNetworkObserverTests {
  @Test func nothingRunsBeforeTheFirstUse() {
    let monitors = FakeMonitors()
    _ = SystemNetworkObserver(monitor: monitors.shared())
    #expect(monitors.all.isEmpty)
  }

  @Test func aSubscriberGetsTheStatusAtOnceAndThenEachChangeOnce() {
    let monitors = FakeMonitors(.disconnected)
    let observer = SystemNetworkObserver(monitor: monitors.shared())
    let seen = Recorder<NetworkConnectionStatus>()
    let subscription = observer.subscribe { seen.append($0) }
    #expect(seen.elements == [.disconnected])
    let statuses = monitors.all[0].statuses
    statuses.send(.connected)
    statuses.send(.connected)
    statuses.send(.disconnected)
    #expect(seen.elements == [.disconnected, .connected, .disconnected])
    #expect(observer.currentStatus == .disconnected)
    subscription.cancel()
    statuses.send(.connected)
    #expect(seen.count == 3)
  }

  @Test func whetherTheNetworkIsMeteredIsToldAtOnceAndThenEachChangeOnce() {
    let monitors = FakeMonitors()
    let shared = monitors.shared()
    var observer: SystemNetworkObserver? = SystemNetworkObserver(monitor: shared)
    let seen = Recorder<Bool>()
    let subscription = observer?.subscribeToCost { seen.append($0) }
    let costs = monitors.all[0].costs
    costs.send(true, where: !=)
    costs.send(true, where: !=)
    #expect(observer?.isMetered == true)
    costs.send(false, where: !=)
    #expect(seen.elements == [false, true, false])
    subscription?.cancel()
    #expect(monitors.all.map(\.stopCount) == [1])
    // A look keeps the next one until the observer is gone.
    #expect(observer?.isMetered == false)
    #expect(monitors.all.map(\.stopCount) == [1, 0])
    observer = nil
    #expect(monitors.all.map(\.stopCount) == [1, 1])
  }

  @Test func theMonitorStopsWithTheLastSubscriptionAndStartsWithTheNext() {
    let monitors = FakeMonitors()
    let shared = monitors.shared()
    let observers = [
      SystemNetworkObserver(monitor: shared), SystemNetworkObserver(monitor: shared),
    ]
    for round in 0..<3 {
      let first = observers[0].subscribe { _ in }
      let second = observers[1].subscribe { _ in }
      #expect(monitors.all.count == round + 1)
      #expect(observers[0].currentStatus == .connected)
      first.cancel()
      #expect(monitors.all[round].stopCount == 0)
      second.cancel()
      #expect(monitors.all[round].stopCount == 1)
    }
  }

  @Test func aLookAtTheStatusKeepsTheMonitorUntilTheObserverIsGone() {
    let monitors = FakeMonitors(.requiresConnection)
    let shared = monitors.shared()
    var observer: SystemNetworkObserver? = SystemNetworkObserver(monitor: shared)
    #expect(observer?.currentStatus == .requiresConnection)
    #expect(observer?.currentStatus == .requiresConnection)
    observer?.subscribe { _ in }.cancel()
    monitors.all[0].statuses.send(.connected)
    #expect(observer?.currentStatus == .connected)
    #expect(monitors.all.map(\.stopCount) == [0])
    observer = nil
    #expect(monitors.all.map(\.stopCount) == [1])
    #expect(shared.running == nil)
  }

  @Test func looksFromManyThreadsKeepOneMonitor() async {
    let monitors = FakeMonitors()
    let shared = monitors.shared()
    let observer = Locked<SystemNetworkObserver?>(SystemNetworkObserver(monitor: shared))
    await runOnThreads(8) { _ in
      for _ in 0..<100 {
        #expect(observer.withLock { $0 }?.currentStatus == .connected)
      }
    }
    #expect(monitors.all.map(\.stopCount) == [0])
    observer.withLock { $0 = nil }
    #expect(monitors.all.map(\.stopCount) == [1])
  }

  @Test func aSubscriptionDoesNotNeedItsObserver() {
    let monitors = FakeMonitors()
    var observer: SystemNetworkObserver? = SystemNetworkObserver(monitor: monitors.shared())
    weak let released = observer
    let seen = Recorder<NetworkConnectionStatus>()
    let subscription = observer?.subscribe { seen.append($0) }
    observer = nil
    #expect(released == nil)
    monitors.all[0].statuses.send(.disconnected)
    #expect(seen.elements == [.connected, .disconnected])
    subscription?.cancel()
    #expect(monitors.all[0].stopCount == 1)
  }

  @Test func aHandlerMayUseTheObserverAndLeave() {
    let monitors = FakeMonitors(.disconnected)
    let observer = SystemNetworkObserver(monitor: monitors.shared())
    let kept = Locked(QuerySubscription.empty)
    let seen = Recorder<NetworkConnectionStatus>()
    let subscription = observer.subscribe { status in
      seen.append(observer.currentStatus)
      observer.subscribe { seen.append($0) }.cancel()
      if status == .connected { kept.withLock { $0 }.cancel() }
    }
    kept.withLock { $0 = subscription }
    monitors.all[0].statuses.send(.connected)
    #expect(seen.elements == [.disconnected, .disconnected, .connected, .connected])
    #expect(monitors.all.map(\.stopCount) == [1])
  }

  @Test func subscribersOnManyThreadsHearEachChangeOnce() async {
    let monitors = FakeMonitors(.disconnected)
    let observer = SystemNetworkObserver(monitor: monitors.shared())
    let kept = observer.subscribe { _ in }
    let statuses = monitors.all[0].statuses
    await runOnThreads(8) { _ in
      for index in 0..<100 {
        let seen = Recorder<NetworkConnectionStatus>()
        let subscription = observer.subscribe { seen.append($0) }
        statuses.send(index % 2 == 0 ? .connected : .disconnected)
        subscription.cancel()
        let elements = seen.elements
        #expect(!elements.isEmpty)
        #expect(zip(elements, elements.dropFirst()).allSatisfy { $0 != $1 })
      }
    }
    kept.cancel()
    #expect(monitors.all.map(\.stopCount) == [1])
  }

  @Test func aQuestionKeepsTheMonitorUntilItsAnswer() async throws {
    let monitors = FakeMonitors()
    let observer = SystemNetworkObserver(monitor: monitors.shared())
    let url = try #require(URL(string: "http://reachable/"))
    #expect(await observer.reachability(of: url) == .reachable)
    #expect(await observer.reachability(of: URL(filePath: "/")) == .unreachable)
    #expect(monitors.all.map(\.stopCount) == [1, 1])
  }

  @Test func installingMakesTheSharedOneTheDefault() async {
    // In a process of its own: the default is everybody's.
    await #expect(processExitsWith: .success) {
      #expect(QueryClient.defaultNetworkObserver == nil)
      SystemNetworkObserver.install()
      let installed = QueryClient.defaultNetworkObserver as? SystemNetworkObserver
      #expect(installed === SystemNetworkObserver.shared)
    }
  }
}
