import Query
import Testing

@Suite struct QueryTaskIdentifierTests {
  @Test func identifiersAreUniqueAndSpelledByTheirNumber() async {
    let identifiers = await withTaskGroup(of: [QueryTaskIdentifier].self) { group in
      for _ in 0..<8 {
        group.addTask { (0..<100).map { _ in QueryTask(context: QueryContext()) { _, _ in }.id } }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(identifiers).count == 800)
    for identifier in identifiers.prefix(10) {
      #expect(identifier.debugDescription.wholeMatch(of: /#[1-9][0-9]*/) != nil)
    }
  }
}
