import Testing

@testable import Query

private enum Numbered<Number>: QueryContext.Key {
  static var defaultValue: Int { -1 }
}

private enum A {}
private enum B {}
private enum C {}

@Suite struct ContextNodeTests {
  @Test func aChainThatIsSharedAtEachWriteDoesNotGrowWithoutBound() {
    var context = QueryContext()
    var copies = [QueryContext]()
    context[Numbered<A>.self] = 1
    for value in 0..<1_000 {
      copies.append(context)
      context[Numbered<B>.self] = value
      context[Numbered<C>.self] = value * 2
    }
    #expect((context.head?.depth ?? 0) <= 24 + 2 * 3 + 1)
    #expect(context.head?.distinctKeys == 3)
    #expect(context[Numbered<A>.self] == 1)
    #expect(context[Numbered<B>.self] == 999)
    #expect(context[Numbered<C>.self] == 1_998)
    #expect(copies[500][Numbered<B>.self] == 499)
  }

  @Test func aWriteToAChainThatNobodySharesIsInPlace() {
    var context = QueryContext()
    context[Numbered<A>.self] = 1
    context[Numbered<B>.self] = 1
    for value in 0..<100 {
      context[Numbered<A>.self] = value
      context[Numbered<B>.self] = value
    }
    #expect(context.head?.depth == 2)
  }

  @Test func mergingWritesEachKeyOfTheOther() {
    var context = QueryContext()
    context[Numbered<A>.self] = 1
    context[Numbered<B>.self] = 2
    var other = QueryContext()
    other[Numbered<B>.self] = 3
    other[Numbered<C>.self] = 4
    let copy = context
    context.merge(other)
    #expect(context[Numbered<A>.self] == 1)
    #expect(context[Numbered<B>.self] == 3)
    #expect(context[Numbered<C>.self] == 4)
    #expect(copy[Numbered<B>.self] == 2)
    #expect(!copy.contains(Numbered<C>.self))
    context[Numbered<C>.self] = 5
    #expect(other[Numbered<C>.self] == 4)
  }
}
