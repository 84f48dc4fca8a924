import Foundation
public import Query

extension BlockQuery<Int> {
  /// A query whose first fetch brings 1, with metadata; the server confirms that to later ones once a gate
  /// is open.
  public static func confirmingLate(_ gate: Gate) -> BlockQuery<Int> {
    BlockQuery(["meanwhile"]) { context, continuation in
      guard context.storedValue?.metadata != nil else {
        return continuation.returning(1, metadata: Data([1]))
      }
      try await gate.pass()
      return try continuation.unchanged()
    }
  }
}
