import Foundation
import Testing

@testable import Query

@Suite("QualifiedTypeName")
struct QualifiedTypeNameTests {
  @Test("Names have their module and their generic arguments")
  func names() {
    #expect(QualifiedTypeName.of(Int?.self) == "Swift.Optional<Swift.Int>")
    #expect(QualifiedTypeName.of(VectorQuery.self) == "QueryTests.VectorQuery")
    #expect(
      QualifiedTypeName.of(VectorBox<[String: VectorQuery]>.self)
        == """
        QueryTests.VectorBox<Swift.Dictionary<Swift.String, QueryTests.VectorQuery>>
        """
    )
  }

  @Test("The address of a private type's place is removed, wherever it stands")
  func addresses() {
    func local() -> Any.Type {
      struct Local {}
      return Local.self
    }
    let types: [(Any.Type, String)] = [
      (Private.self, "QueryTests.Private"),
      (Private.Inner<Private>.self, "QueryTests.Private.Inner<QueryTests.Private>"),
      (VectorBox<Private?>.self, "QueryTests.VectorBox<Swift.Optional<QueryTests.Private>>"),
      (local(), "QueryTests.QualifiedTypeNameTests.Local"),
      (URL.inExtension, "(extension in QueryTests):FoundationEssentials.URL.InExtension"),
    ]
    for (type, name) in types { #expect(QualifiedTypeName.of(type) == name) }
  }

  @Test("Only an address is removed")
  func otherParentheses() {
    for name in [
      "A.(unknown context at $)", "A.(unknown context at $1f", "(unknown context at $zz).B",
      "A.(B)", "A<(Swift.Int) -> ()>", "", "((((",
    ] {
      #expect(QualifiedTypeName.withoutAddresses(name) == name)
    }
    #expect(
      QualifiedTypeName.withoutAddresses(
        "A.(unknown context at $55d1).(unknown context at $0aF9).B<(A.(unknown context at $1).D)>"
      ) == "A.B<(A.D)>"
    )
  }
}

private struct Private: Hashable {
  struct Inner<Value> {}
}

extension URL {
  private struct InExtension {}
  fileprivate static var inExtension: Any.Type { InExtension.self }
}
