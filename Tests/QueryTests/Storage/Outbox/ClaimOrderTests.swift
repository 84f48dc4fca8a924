import Query
import Testing

@Suite struct ClaimOrderTests {
  private static func order(
    _ number: Int64, _ priority: MutationPriority, isRepeat: Bool = false, due: Int64 = 0
  ) -> ClaimOrder {
    ClaimOrder(
      number: number, isRepeat: isRepeat, dueBoottime: due, priority: priority, host: "",
      HostSlots(others: 1))
  }

  @Test func whatIsUrgentGoesFirstAmongWhatWasNeverTried() {
    let orders = [
      Self.order(3, .high), Self.order(4, .high), Self.order(1, .normal), Self.order(2, .low),
      Self.order(6, .high, isRepeat: true, due: 9), Self.order(5, .low, isRepeat: true, due: 1),
    ]
    #expect(orders.reversed().sorted() == orders)
  }

  @Test func afterEightOvertakingsItIsTheTurnOfTheOneThatWaited() {
    let orders = [Self.order(1, .low), Self.order(2, .high), Self.order(3, .normal)]
    var (turns, chosen) = (ClaimTurns(), [Int]())
    for _ in 0..<18 {
      guard let next = turns.next(of: orders.indices, by: { orders[$0] }) else { return }
      chosen.append(next.candidate)
      turns = next.turns
    }
    let round = Array(repeating: 1, count: 8) + [0]
    #expect(chosen == round + round)
  }

  /// New ones may come without an end.
  @Test func afterManyOthersItIsTheTurnOfTheFirstRepeat() {
    let orders = [
      Self.order(1, .normal), Self.order(2, .high),
      Self.order(4, .high, isRepeat: true, due: 9), Self.order(3, .low, isRepeat: true, due: 5),
    ]
    var (turns, chosen) = (ClaimTurns(), [Int]())
    for _ in 0..<130 {
      guard let next = turns.next(of: orders.indices, by: { orders[$0] }) else { return }
      chosen.append(next.candidate)
      turns = ClaimTurns(stored: Int64(next.turns.stored))
    }
    #expect(chosen.indices.filter { chosen[$0] == 3 } == [64, 129])
    let round = Array(repeating: 1, count: 8) + [0]
    // The one that was entered first has its turns as ever.
    #expect(Array(chosen.filter { $0 != 3 }.prefix(18)) == round + round)
  }

  @Test func turnsOfADamagedFileAreNoMoreThanAllThereAre() {
    for stored in [Int64.min, -1, 0xFFFF, .max] {
      let turns = ClaimTurns(stored: stored)
      #expect((0...ClaimTurns.most).contains(turns.overtakings), "\(stored)")
      #expect((0...ClaimTurns.mostBeforeRepeat).contains(turns.repeatOvertakings), "\(stored)")
    }
    #expect(ClaimTurns(stored: 0) == ClaimTurns())
  }

  @Test func withoutPrioritiesNothingIsOvertaken() throws {
    let orders = [Self.order(2, .normal), Self.order(1, .normal)]
    let next = try #require(ClaimTurns(overtakings: 5).next(of: orders, by: { $0 }))
    #expect(next.candidate == orders[1])
    #expect(next.turns == ClaimTurns())
    #expect(ClaimTurns().next(of: [ClaimOrder](), by: { $0 }) == nil)
  }
}
