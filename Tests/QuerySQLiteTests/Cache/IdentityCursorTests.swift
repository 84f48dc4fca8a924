import Query
import Testing

@testable import QuerySQLite

@Suite struct IdentityCursorTests {
  @Test func itGoesThroughTheRangesOfAPrefix() throws {
    var cursor = IdentityCursor(try IdentityPrefix(path: ["a"]))
    #expect(cursor.lower == #"["a","# && cursor.upper == #"["a"-"#)
    cursor.pass(#"["a",1]"#)
    #expect(cursor.lower == "[\"a\",1]\0" && cursor.upper == #"["a"-"#)
    let hasMore = cursor.passRange()
    #expect(hasMore)
    #expect(cursor.lower == #"["a"]"# && cursor.upper == #"["a"^"#)
    // Those of the queries that have a name on disk.
    let hasNamed = cursor.passRange()
    #expect(hasNamed)
    #expect(cursor.lower == #"[{},"a","# && cursor.upper == #"[{},"a"-"#)
    let hasLast = cursor.passRange()
    #expect(hasLast)
    #expect(cursor.lower == #"[{},"a"]"# && cursor.upper == #"[{},"a"^"#)
    let isEnd = !cursor.passRange()
    #expect(isEnd)
  }

  @Test func everythingIsOneRange() throws {
    var cursor = IdentityCursor(try IdentityPrefix(path: []))
    #expect(cursor.lower == "[\0" && cursor.upper == "\\")
    let isEnd = !cursor.passRange()
    #expect(isEnd)
  }
}
