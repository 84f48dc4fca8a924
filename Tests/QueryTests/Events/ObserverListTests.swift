import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct ObserverListTests {
  @Test func observersHearOfEachChangeUntilTheyLeave() {
    let list = ObserverList(0)
    let values = Recorder<Int>()
    let subscription = list.subscribe(emittingFirst: false) { values.append($0) }
    #expect(values.elements == [])
    #expect(list.count == 1)
    list.send(1)
    list.send(1)
    list.send(2)
    subscription.cancel()
    list.send(3)
    #expect(values.elements == [1, 1, 2])
    #expect(list.count == 0)
    #expect(list.value == 3)
  }

  @Test func theFirstEmissionIsThePresentValueBeforeSubscribeReturns() {
    let list = ObserverList(5)
    let values = Recorder<Int>()
    let subscription = list.subscribe(emittingFirst: true) { values.append($0) }
    #expect(values.elements == [5])
    withExtendedLifetime(subscription) {}
  }

  @Test func whatIsNoChangeIsNotTold() {
    let list = ObserverList(true)
    let values = Recorder<Bool>()
    let subscription = list.subscribe(emittingFirst: false) { values.append($0) }
    for value in [true, false, false, true] { list.send(value, where: !=) }
    #expect(values.elements == [false, true])
    withExtendedLifetime(subscription) {}
  }

  @Test func observersAreCalledInTheOrderInWhichTheyCame() {
    let list = ObserverList(0)
    let order = Recorder<Int>()
    let subscriptions = (0..<5).map { index in
      list.subscribe(emittingFirst: false) { _ in order.append(index) }
    }
    list.send(1)
    #expect(order.elements == [0, 1, 2, 3, 4])
    withExtendedLifetime(subscriptions) {}
  }

  @Test func anObserverMaySendSubscribeAndLeave() {
    let list = ObserverList(0)
    let values = Recorder<Int>()
    let own = Box(QuerySubscription.empty)
    own.value = list.subscribe(emittingFirst: false) { value in
      values.append(value)
      if value == 1 { list.send(2) }
      if value == 2 {
        list.subscribe(emittingFirst: true) { values.append($0 * 100) }.cancel()
        list.send(3)
        own.value.cancel()
      }
    }
    list.send(1)
    #expect(values.elements == [1, 2, 200])
    #expect(list.count == 0)
    #expect(list.value == 3)
  }

  @Test func theLastValueThatAnObserverHearsIsTheLastOneThatWasSent() async {
    let list = ObserverList(0)
    let seen = (0..<3).map { _ in Recorder<Int>() }
    let subscriptions = seen.map { recorder in
      list.subscribe(emittingFirst: true) { recorder.append($0) }
    }
    await runOnThreads(4) { thread in
      for round in 0..<300 { list.send(thread * 300 + round) }
    }
    for recorder in seen {
      #expect(recorder.elements == seen[0].elements)
      #expect(recorder.elements.count == 1_201)
      #expect(recorder.elements.last == list.value)
    }
    withExtendedLifetime(subscriptions) {}
  }

  @Test func noStaleFirstEmissionComesAfterANewerValue() async {
    let list = ObserverList(0)
    let isOver = Box(false)
    await runOnThreads(2) { thread in
      if thread == 0 {
        var value = 0
        while !isOver.value {
          value += 1
          list.send(value)
        }
        return
      }
      for _ in 0..<1_000 {
        let values = Recorder<Int>()
        let subscription = list.subscribe(emittingFirst: true) { values.append($0) }
        _ = list.value
        subscription.cancel()
        let elements = values.elements
        #expect(zip(elements, elements.dropFirst()).allSatisfy { $0 < $1 })
      }
      isOver.value = true
    }
  }
}
