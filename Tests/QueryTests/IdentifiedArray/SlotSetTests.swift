import Testing

@testable import Query

@Suite("SlotSet")
struct SlotSetTests {
  @Test(arguments: [16, 64, 256])
  func countsAndFindsBesideASet(capacity: Int) {
    var slots = SlotSet()
    #expect(slots.count(in: 0..<capacity) == 0)
    #expect(slots.number(ofFree: 3, from: 2) == 5)
    slots.remove(3)
    let members = Set((0..<capacity).filter { $0 % 5 == 0 || $0 % 7 == 3 || $0 / 64 == 1 })
    for slot in members { slots.insert(slot, of: capacity) }
    slots.insert(1, of: capacity)
    slots.remove(1)
    for lower in stride(from: 0, through: capacity, by: 3) {
      for upper in lower...capacity {
        let expected = (lower..<upper).count { members.contains($0) }
        if slots.count(in: lower..<upper) != expected { Issue.record("\(lower)..<\(upper)") }
      }
      let free = (lower..<capacity).filter { !members.contains($0) }
      #expect(free.indices.allSatisfy { slots.number(ofFree: $0, from: lower) == free[$0] })
    }
    slots.removeAll()
    #expect(slots.count(in: 0..<capacity) == 0)
  }
}
