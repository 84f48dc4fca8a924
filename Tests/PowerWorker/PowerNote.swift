import Foundation
import Query

/// A text that says whether it is whole: `NAME/VERSION/LENGTH`, and an `x` for each further byte.
struct PowerNote: Codable, Sendable {
  var text: String

  init(_ name: String, version: Int, length: Int) {
    let head = "\(name)/\(version)/\(length) "
    self.text = head + String(repeating: "x", count: max(length - head.utf8.count, 0))
  }

  /// The name and the version that a text says it has; nil if it is not whole.
  static func head(of text: String) -> String? {
    let fields = text.prefix { $0 != " " }.split(separator: "/").map(String.init)
    guard fields.count == 3, let version = Int(fields[1]), let length = Int(fields[2]),
      text == PowerNote(fields[0], version: version, length: length).text
    else { return nil }
    return "\(fields[0]) \(version)"
  }
}

/// The query of a text.
struct PowerQuery: QueryRequest, Hashable {
  let name: String

  var path: QueryPath { ["power", self.name] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<PowerNote>
  ) async throws -> PowerNote {
    throw CancellationError()
  }
}
