import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// The checksum of a row covers what is sent, and what decides its target.
@Suite struct OutboxRowTests {
  private static let row: OutboxRow = {
    var mutation = OutboxScratch.mutation("text", lane: "lane")
    mutation.host = "host"
    return OutboxRow(mutation, partition: 1, now: BootClock().clock.now())
  }()

  @Test(
    arguments: [
      { $0.enqueued.name += "a" }, { $0.enqueued.instance = #"["note",2]"# },
      { $0.enqueued.version += 1 }, { $0.enqueued.lane = nil }, { $0.enqueued.lane = "lan" },
      { $0.enqueued.host = nil }, { $0.enqueued.host = "hosts" },
      { $0.enqueued.onFailure = .halt }, { $0.enqueued.coder = "propertyList" },
      { $0.bodyFile = "body" }, { $0.enqueued.idempotencyKey = "key" },
      { $0.enqueued.arguments = Data() }, { $0.partition = 2 }, { $0.number = 3 },
      { $0.enqueued.id = UUID() },
      // Two numbers that change places.
      { ($0.partition, $0.number) = ($0.number, $0.partition) },
      // A byte that changes sides.
      { ($0.enqueued.name, $0.enqueued.instance) = ("\($0.enqueued.name)[", "]") },
    ] as [@Sendable (inout OutboxRow) -> Void])
  func whatDecidesWhereARowIsSentIsUnderItsChecksum(
    _ edit: @Sendable (inout OutboxRow) -> Void
  ) {
    var row = Self.row
    #expect(row.isSound)
    edit(&row)
    #expect(!row.isSound)
  }

  @Test func aRowThatMovesToAnotherAccountIsAsSoundAsItWas() {
    var row = Self.row
    row.move(to: .max)
    #expect(row.partition == .max)
    #expect(row.isSound)
    row.enqueued.name += "a"
    row.move(to: .min)
    #expect(!row.isSound)
  }

  @Test(arguments: 0..<128)
  func eachBitOfTheIdentifierCounts(_ bit: Int) {
    var row = Self.row
    var bytes = row.id.uuid
    withUnsafeMutableBytes(of: &bytes) { $0[bit / 8] ^= 1 << UInt8(bit % 8) }
    row.enqueued.id = UUID(uuid: bytes)
    #expect(!row.isSound)
  }

  @Test(arguments: 0..<64)
  func eachBitOfTheNumberCounts(_ bit: Int) {
    var row = Self.row
    row.number ^= 1 << bit
    #expect(!row.isSound)
  }

  @Test func aRowThatIsGivenAnotherNumberIsAsSoundAsItWas() {
    var row = Self.row
    row.renumber(.max)
    #expect(row.number == .max)
    #expect(row.isSound)
    row.enqueued.name += "a"
    row.renumber(1)
    #expect(!row.isSound)
  }
}
