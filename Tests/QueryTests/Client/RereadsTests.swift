import Foundation
import TestSupport
import Testing

@testable import Query

/// What a process that only shows an outbox reads of it while another one changes it.
@Suite(.warningsAreIssues)
struct RereadsTests {
  @Test func aBurstIsReadAtOnceAndOnceMore() async {
    let gate = Gate()
    let rereads = Rereads { _ in await gate.passIgnoringCancellation() }
    let reads = Counter()
    for _ in 1...100 { rereads.request { reads.increment() } }
    await gate.arrival(1)
    #expect(reads.value == 1)
    rereads.request { reads.increment() }
    gate.letOneThrough()
    await gate.arrival(2)
    #expect(reads.value == 2)
    gate.letOneThrough()
    while !rereads.isIdle { await Task.yield() }
    #expect(reads.value == 2)
    rereads.request { reads.increment() }
    await gate.arrival(3)
    #expect(reads.value == 3)
    gate.open()
  }

  /// A mutation that is entered, tried and refused within a few milliseconds is shown as what it is.
  @Test func thePausesOfABurstGrow() {
    #expect((1...6).map(Rereads.pause) == [10, 20, 40, 80, 100, 100].map { .milliseconds($0) })
    #expect(Rereads.pause(after: .max) == .milliseconds(100))
  }

  @Test func changesOfAnotherProcessReadWhatIsShownOnceABurst() async throws {
    let device = Device()
    let save = SaveNote().persisted(as: "save-note")
    let other = device.launch()
    for id in 1...200 { try await other.store(for: save).enqueue(with: Note(id: id, text: "a")) }
    let gate = Gate()
    let storage = ScriptedStorage(device.storage)
    var context = QueryContext()
    context.outboxRereadPause = { _ in await gate.passIgnoringCancellation() }
    let store = QueryClient(storage: storage, defaultContext: context).store(for: save)
    storage.scripted.reads.removeAll()
    for _ in 1...1_000 { storage.scripted.tellOfAnotherProcess() }
    await gate.arrival(1)
    #expect(storage.scripted.reads.elements == [50])
    gate.letOneThrough()
    await gate.arrival(2)
    #expect(storage.scripted.reads.elements == [50, 50])
    #expect(store.history.allSatisfy { $0.isQueued })
    gate.open()
  }

  @Test func whatHasEndedIsNotReadAgain() async throws {
    let device = Device()
    let save = SaveNote().persisted(as: "save-note")
    let other = device.launch().store(for: save)
    var tickets = [MutationTicket<String>]()
    for id in 1...3 { tickets.append(try await other.enqueue(with: Note(id: id, text: "a"))) }
    let gate = Gate()
    let storage = ScriptedStorage(device.storage)
    var context = QueryContext()
    context.outboxRereadPause = { _ in await gate.passIgnoringCancellation() }
    let store = QueryClient(storage: storage, defaultContext: context).store(for: save)
    try await device.outbox.cancel(tickets[0].id)
    #expect(store.history.map(\.isQueued) == [false, true, true])
    storage.scripted.reads.removeAll()
    storage.scripted.tellOfAnotherProcess()
    await gate.arrival(1)
    #expect(storage.scripted.reads.elements == [2])
    gate.open()
  }
}
