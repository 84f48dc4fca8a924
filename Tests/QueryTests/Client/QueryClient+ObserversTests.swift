import Query
import TestSupport
import Testing

/// The observers are the whole process's, so each test has a process of its own.
@Suite(.warningsAreIssues) struct QueryClientObserversTests {
  @Test func thereAreNoneUntilTheyAreSet() async {
    await #expect(processExitsWith: .success) {
      #expect(QueryClient.defaultNetworkObserver == nil)
      #expect(QueryClient.defaultApplicationActivityObserver == nil)
    }
  }

  @Test(.enabled(if: !Sanitizer.isAddress, Comment(rawValue: Sanitizer.addressReason)))
  func creatorsThatAreMadeLaterHaveThem() async {
    await #expect(processExitsWith: .success) {
      let early = QueryClient.quiet(.default())
      QueryClient.defaultNetworkObserver = MockNetworkObserver()
      QueryClient.defaultApplicationActivityObserver = ManualActivity()
      #expect(QueryClient.defaultNetworkObserver is MockNetworkObserver)
      #expect(QueryClient.defaultApplicationActivityObserver is ManualActivity)
      let late = QueryClient.quiet(.default())
      let testing = QueryClient.quiet(.defaultTesting)
      let counts = [early, late, testing].map {
        $0.store(for: ProbeQuery()).context.queryControllers.count
      }
      #expect(counts == [0, 1, 0])
    }
  }

  @Test func theOldObserverIsReleasedWithoutALock() async {
    await #expect(processExitsWith: .success) {
      QueryClient.defaultNetworkObserver = ReleasedObserver()
      QueryClient.defaultApplicationActivityObserver = ReleasedObserver()
      QueryClient.defaultNetworkObserver = nil
      QueryClient.defaultApplicationActivityObserver = nil
      #expect(QueryClient.defaultNetworkObserver == nil)
    }
  }
}

private final class ReleasedObserver: NetworkObserver, ApplicationActivityObserver {
  var currentStatus: NetworkConnectionStatus { .connected }

  deinit { #expect(isDoneElsewhere { _ = QueryClient.defaultNetworkObserver }) }

  func subscribe(
    with handler: @escaping @Sendable (NetworkConnectionStatus) -> Void
  ) -> QuerySubscription { .empty }

  func subscribe(_ handler: @escaping @Sendable (Bool) -> Void) -> QuerySubscription { .empty }
}
