import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct ConnectedConditionTests {
  @Test(
    arguments: [.disconnected, .requiresConnection, .connected] as [NetworkConnectionStatus],
    [.disconnected, .requiresConnection, .connected] as [NetworkConnectionStatus]
  )
  func isSatisfiedByWhatIsAtLeastGoodEnough(
    current: NetworkConnectionStatus,
    wanted: NetworkConnectionStatus
  ) {
    var context = QueryContext()
    context.satisfiedConnectionStatus = wanted
    let condition: ConnectedCondition = .connected(to: MockNetworkObserver(initialStatus: current))
    #expect(condition.isSatisfied(in: context) == (current >= wanted))
  }

  @Test func emitsAtEveryEventOfTheObserver() {
    let observer = MockNetworkObserver(initialStatus: .disconnected)
    var context = QueryContext()
    context.satisfiedConnectionStatus = .requiresConnection
    let condition: ConnectedCondition = .connected(to: observer)
    let emissions = Recorder<Bool>()
    let subscription = condition.subscribe(in: context) { emissions.append($0) }
    observer.send(status: .requiresConnection)
    observer.send(status: .connected)
    observer.send(status: .disconnected)
    #expect(emissions.elements == [false, true, true, false])
    subscription.cancel()
    #expect(observer.subscriberCount == 0)
  }
}
