import Foundation
import Testing

@testable import Query

/// RFC 9562, 5.4 and 5.7.
@Suite struct UUIDMakingTests {
  @Test func allButTheVersionAndTheVariantIsRandom() {
    #expect(
      UUID(random: (.max, .max)).uuidString == "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF")
    #expect(UUID(random: (0, 0)).uuidString == "00000000-0000-4000-8000-000000000000")
    #expect(Set((0..<1_000).map { _ in UUID.random() }).count == 1_000)
  }

  @Test func theTimeComesFirstAndTheRestIsRandom() {
    let id = UUID(milliseconds: 0x0123_4567_89AB, random: (.max, .max))
    #expect(id.uuidString == "01234567-89AB-7FFF-BFFF-FFFFFFFFFFFF")
    let lowest = UUID(milliseconds: 0x0123_4567_89AB, random: (0, 0))
    #expect(lowest.uuidString == "01234567-89AB-7000-8000-000000000000")
  }

  @Test func thoseOfLaterTimesAreGreaterAndNoTwoAreTheSame() {
    let ids = (0..<1_000).map { _ in UUID.inOrder().uuidString }
    #expect(Set(ids).count == ids.count)
    let times = ids.map { String($0.prefix(13)) }
    #expect(times == times.sorted())
  }

  @Test func theTextIsThatOfFoundation() {
    for _ in 0..<1_000 {
      let id = UUID.random()
      #expect(id.text == id.uuidString)
    }
  }

  @Test func manyThreadsGetNoBitsTwice() async {
    let ids = await withTaskGroup(of: [UUID].self) { group in
      for _ in 0..<8 { group.addTask { (0..<2_000).map { _ in UUID.random() } } }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(ids).count == 16_000)
  }
}
