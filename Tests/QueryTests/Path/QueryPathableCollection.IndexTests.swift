import Query
import Testing

@Suite struct QueryPathableCollectionIndexTests {
  private typealias Items = QueryPathableCollection<PathItem>

  @Test func theEmptyPathComesFirst() {
    let items = Items([PathItem(["a"]), PathItem([]), PathItem([1])])
    #expect(items[items.startIndex].path == [])
    #expect(items.index(after: items.startIndex) != items.endIndex)
  }

  @Test func anIndexIsOfUseWithACopy() {
    let items = Items([PathItem(["a"], 1)])
    var copy = items
    let index = items.startIndex
    #expect(copy[index].value == 1)
    #expect(copy.remove(at: index).value == 1)
    #expect(items[index].value == 1)
  }

  @Test func readingTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      let items = QueryPathableCollection([PathItem(["a"])])
      _ = items[items.endIndex]
    }
  }

  @Test func passingTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      let items = QueryPathableCollection([PathItem(["a"])])
      _ = items.index(after: items.endIndex)
    }
  }

  @Test func anIndexFromBeforeAnEditTraps() async {
    await #expect(processExitsWith: .failure) {
      var items = QueryPathableCollection([PathItem(["a"]), PathItem(["b"])])
      let index = items.startIndex
      items.update(PathItem(["c"]))
      _ = items[index]
    }
  }

  @Test func removingAtTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      var items = QueryPathableCollection<PathItem>()
      items.remove(at: items.endIndex)
    }
  }
}
