import Dispatch
import TestSupport
import Testing

@testable import Query

@Suite struct TaskCancelElsewhereTests {
  @Test func aCancellationHandlerThatBlocksKeepsNoCanceller() async throws {
    let (began, released) = (Gate(), DispatchSemaphore(value: 0))
    let task = Task {
      await withTaskCancellationHandler {
        began.open()
        while !Task.isCancelled { await Task.yield() }
      } onCancel: {
        released.wait()
      }
    }
    try await began.pass()
    task.cancelElsewhere()
    // It has returned, although the handler waits.
    released.signal()
    await task.value
    #expect(task.isCancelled)
  }
}
