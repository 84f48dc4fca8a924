import Foundation
import Operation
import Testing

@Suite("QueryContext+Operation")
struct QueryContextOperationTests {
  private let date = Date(timeIntervalSince1970: 1_234_567_890)

  @Test("The clock is the query clock, read and written")
  func clock() {
    var context = OperationContext()
    context.operationClock = .custom { [date] in date }
    #expect(context.queryClock.now() == date)

    context.queryClock = .timeFreeze(date + 1)
    #expect(context.operationClock.now() == date + 1)
  }

  @Test("The delayer is the query delayer, read and written")
  func delayer() {
    var context = OperationContext()
    context.operationDelayer = .noDelay
    #expect(context.queryDelayer is NoDelayer)

    context.queryDelayer = .taskSleep
    #expect(context.operationDelayer is TaskSleepDelayer)
  }

  @Test("The backoff function is the query's, read and written")
  func backoffFunction() {
    var context = OperationContext()
    context.operationBackoffFunction = .constant(2)
    #expect(context.queryBackoffFunction(5) == 2)

    context.queryBackoffFunction = .linear(3)
    #expect(context.operationBackoffFunction(2) == 6)
  }

  @Test("The client is the query client, read and written")
  func client() {
    var context = OperationContext()
    #expect(context.operationClient == nil)

    let client = OperationClient()
    context.operationClient = client
    #expect(context.queryClient === client)

    context.queryClient = nil
    #expect(context.operationClient == nil)
  }

  @Test("The controllers are the query controllers, read and written")
  func controllers() {
    var context = OperationContext()
    let first = Idle()
    let second = Idle()
    context.operationControllers.append(first)
    context.queryControllers.append(second)
    #expect(context.queryControllers.map { ($0 as? Idle) === first } == [true, false])
    #expect(context.operationControllers.map { ($0 as? Idle) === second } == [false, true])
  }
}

private final class Idle: OperationController {
  func control(with controls: OperationControls<QueryState<Int?, Int>>) -> OperationSubscription {
    .empty
  }
}
