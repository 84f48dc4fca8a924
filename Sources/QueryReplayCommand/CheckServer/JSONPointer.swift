import Foundation

/// A place in JSON, as RFC 6901 writes it: `/notes/0/id`.
struct JSONPointer: Hashable, Sendable {
  private let parts: [String]

  /// - Parameter text: Empty for the whole, else with a `/` before each part.
  /// - Returns: nil if it is no pointer.
  init?(_ text: String) {
    if text.isEmpty {
      self.parts = []
      return
    }
    guard text.hasPrefix("/") else { return nil }
    self.parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
      $0.replacingOccurrences(of: "~1", with: "/").replacingOccurrences(of: "~0", with: "~")
    }
  }

  /// The value there; nil if there is none.
  func value(in json: Any?) -> Any? {
    self.parts.reduce(json) { value, part in
      if let object = value as? [String: Any] { return object[part] }
      guard let array = value as? [Any], let index = Int(part), array.indices.contains(index) else {
        return nil
      }
      return array[index]
    }
  }

  /// The number there: that of the elements if it is an array; nil if there is none.
  func count(in json: Any?) -> Int? {
    switch self.value(in: json) {
    case let array as [Any]: array.count
    case let number as NSNumber: number.intValue
    default: nil
    }
  }
}
