import TestSupport
import Testing

@testable import Query

struct ArrayRadixSortTests {
  @Test(arguments: [0, 1, 2, 499, 500, 5000])
  func numbersOfAllSizesAreSorted(count: Int) {
    var random = SeededGenerator(seed: UInt64(count))
    let numbers = (0..<count).map { _ in UInt.random(in: 0 ... .max, using: &random) }
    for mask in [UInt.max, 0xFFFF_FFF0, 0x7FFF_0000_0000_0FF0, 7, 0] {
      // Both ends, and each twice.
      let some = numbers.map { $0 & mask } + [mask, 0] + numbers.reversed().map { $0 & mask }
      var sorted = some
      sorted.sortByRadix()
      #expect(sorted == some.sorted())
    }
  }
}
