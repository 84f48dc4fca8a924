import Testing

@testable import QuerySQLite

@Suite struct OpenPartitionsTests {
  private let partitions = OpenPartitions<Int>()

  @Test func storagesOfOneAccountShareAPartition() {
    let (first, isFirstNew) = self.partitions.hold("a", orAdd: 1)
    let (second, isSecondNew) = self.partitions.hold("a", orAdd: 2)
    let (other, isOtherNew) = self.partitions.hold("b", orAdd: 3)
    #expect(first == 1 && second == 1 && other == 3)
    #expect(isFirstNew && !isSecondNew && isOtherNew)
    #expect(self.partitions.all.sorted() == [1, 3])
  }

  @Test func theLastStorageEndsTheUse() {
    for new in 1...2 { _ = self.partitions.hold("a", orAdd: new) }
    #expect(!self.partitions.letGo("a"))
    #expect(self.partitions.letGo("a"))
    // It is kept for changes that are still pending.
    #expect(self.partitions.all == [1])
    self.partitions.forget("a")
    #expect(self.partitions.all.isEmpty)
    #expect(self.partitions.hold("a", orAdd: 4) == (4, true))
  }

  @Test func aPartitionThatIsUsedAgainIsNotForgotten() {
    _ = self.partitions.hold("a", orAdd: 1)
    #expect(self.partitions.letGo("a"))
    #expect(self.partitions.hold("a", orAdd: 2) == (1, false))
    self.partitions.forget("a")
    #expect(self.partitions.all == [1])
  }
}
