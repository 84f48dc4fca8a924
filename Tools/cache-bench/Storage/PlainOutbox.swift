import Foundation
import Query

/// A mutation that waits, or runs.
struct QueuedNote {
  /// What the library finds it by; a lean program has its number alone.
  var id = [UInt8]()
  let number: Int64
  let arguments: Data
}

/// The outbox of a plain C program.
protocol PlainOutbox: AnyObject, Sendable {
  /// The least that mutations cost: their arguments' bytes, a commit of those and of their owner, their
  /// results' bytes, and a commit that has moved them to the history, which keeps the newest 50.
  func enqueueAndSettle(_ notes: [Note], _ coder: JSONQueryCoder) throws

  /// Lets so many mutations wait, as the library does before they are replayed.
  ///
  /// - Returns: Them, for ``leaseAndSettle(_:_:)``.
  func queue(_ notes: [Note], _ coder: JSONQueryCoder) throws -> [QueuedNote]

  /// The least that a replayed mutation costs: a commit of its owner, the arguments decoded, and a
  /// commit that has moved it to the history.
  func leaseAndSettle(_ queued: QueuedNote, _ coder: JSONQueryCoder) throws

  /// The arguments of the newest mutations that wait.
  func newest(_ count: Int) throws -> [Data]

  /// The least that a claim costs: a commit of the owner of a row that is already known.
  ///
  /// - Returns: What that commit takes.
  func lease() throws -> Reading
}

extension PlainOutbox {
  /// Sends mutations one after another.
  ///
  /// - Returns: What one takes.
  func mutate(_ count: Int) throws -> Reading {
    let notes = (0..<count).map { Note($0, edition: 0) }
    let coder = JSONQueryCoder()
    let gauge = Gauge()
    for note in notes { try self.enqueueAndSettle([note], coder) }
    return gauge.reading(per: count)
  }

  /// Sends mutations that wait, one after another.
  ///
  /// - Returns: What one takes.
  func replay(_ count: Int) throws -> Reading {
    let coder = JSONQueryCoder()
    let queued = try self.queue((0..<count).map { Note($0, edition: 0) }, coder)
    let gauge = Gauge()
    for mutation in queued { try self.leaseAndSettle(mutation, coder) }
    return gauge.reading(per: count)
  }

  /// Leases a row over and over.
  ///
  /// - Returns: What a lease takes.
  func lease(times: Int) throws -> Reading {
    var sum = Reading.zero
    for _ in 0..<times { sum += try self.lease() }
    return sum / times
  }

  /// Reads the newest mutations that wait, and their arguments.
  ///
  /// - Returns: What that takes.
  func readNewest(_ count: Int) throws -> Reading {
    let coder = JSONQueryCoder()
    let gauge = Gauge()
    let notes = try self.newest(count).map { try coder.decode(Note.self, from: $0) }
    let reading = gauge.reading()
    try expect(notes.count, count, "the newest mutations")
    return reading
  }
}
