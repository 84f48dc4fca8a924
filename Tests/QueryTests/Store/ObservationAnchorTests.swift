import Foundation
import Observation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct ObservationAnchorTests {
  /// Whether a change of the store is announced to a reader of this property.
  private static func isObserved(
    _ read: @escaping @Sendable (IntStore) -> Void,
    changedBy change: (IntStore) async throws -> Void = { $0.currentValue = 1 }
  ) async throws -> Bool {
    let store = ScriptedQuery.store()
    let counter = Counter()
    withObservationTracking {
      read(store)
    } onChange: {
      counter.increment()
    }
    #expect(counter.value == 0)
    try await change(store)
    return counter.value == 1
  }

  @Test func stateCurrentValueAndDynamicMembersAreObserved() async throws {
    #expect(try await Self.isObserved { _ = $0.state })
    #expect(try await Self.isObserved { _ = $0.currentValue })
    #expect(
      try await Self.isObserved({ _ = $0.isLoading }, changedBy: { $0.fetchTask().cancel() }))
    #expect(try await Self.isObserved { _ = $0.status.isLoading })
    #expect(try await Self.isObserved { _ = $0.valueUpdateCount })
  }

  @Test func whatIsNoPartOfTheStateIsNotObserved() async throws {
    #expect(try await !Self.isObserved { _ = $0.subscriberCount })
    #expect(try await !Self.isObserved { _ = $0.context })
    #expect(try await !Self.isObserved { _ = $0.path })
  }

  @Test func everyKindOfChangeIsAnnounced() async throws {
    #expect(
      try await Self.isObserved(
        { _ = $0.state },
        changedBy: { $0.setResult(to: .failure(TestError())) }
      )
    )
    #expect(try await Self.isObserved({ _ = $0.state }, changedBy: { $0.reset() }))
    #expect(try await Self.isObserved({ _ = $0.state }, changedBy: { $0.fetchTask().cancel() }))
    #expect(try await Self.isObserved({ _ = $0.state }, changedBy: { try await $0.fetch() }))
  }

  @Test func onChangeReadsTheNewState() {
    let store = ScriptedQuery.store()
    let values = Recorder<Int?>()
    withObservationTracking {
      _ = store.currentValue
    } onChange: {
      values.append(store.currentValue)
    }
    store.currentValue = 5
    store.currentValue = 6
    #expect(values.elements == [5])
  }

  @Test func onChangeIsNotCalledUnderTheLock() async {
    let store = ScriptedQuery.store()
    let values = Recorder<Int?>()
    withObservationTracking {
      _ = store.state
    } onChange: {
      // Another thread gets at the store meanwhile; it would wait for ever for a lock held here.
      let isDone = ThreadResult { store.currentValue }
      values.append(isDone.wait() ?? nil)
    }
    await runOnThreads(1) { _ in store.withExclusiveAccess { $0.currentValue = 3 } }
    #expect(values.elements == [3])
  }

  @Test func exclusiveAccessAnnouncesOnceAtItsEnd() {
    let store = ScriptedQuery.store()
    let values = Recorder<Int?>()
    withObservationTracking {
      _ = store.currentValue
    } onChange: {
      values.append(store.currentValue)
    }
    store.withExclusiveAccess { store in
      store.currentValue = 1
      store.currentValue = 2
      #expect(values.elements == [])
    }
    #expect(values.elements == [2])
  }

  @Test func observationGoesOnRoundAfterRoundFromManyThreads() async {
    let store = ScriptedQuery.store()
    let seen = Recorder<Box<Bool>>()
    await runOnThreads(4) { _ in
      for round in 0..<200 {
        let isAnnounced = Box(false)
        seen.append(isAnnounced)
        withObservationTracking {
          _ = store.valueUpdateCount
        } onChange: {
          isAnnounced.value = true
        }
        store.currentValue = round
      }
    }
    let missedCount = seen.elements.count { !$0.value }
    #expect(seen.count == 800)
    #expect(missedCount == 0)
  }
}

/// What a closure returns on a thread of its own.
private final class ThreadResult<Value: Sendable>: Sendable {
  private let box = Box<Value?>(nil)
  private let isDone = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () -> Value) {
    Thread { [box, isDone] in
      box.value = body()
      isDone.signal()
    }.start()
  }

  func wait() -> Value? {
    self.isDone.wait()
    return self.box.value
  }
}
