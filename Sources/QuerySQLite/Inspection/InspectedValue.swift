package import Foundation

/// What an entry holds, as it is stored.
package struct InspectedValue: Hashable, Sendable {
  /// The entry.
  package let entry: InspectedEntry
  /// The name of the type of the last error, while that is the newest result.
  package let errorType: String?
  /// Its text.
  package let errorText: String?
  /// The checksum as it is stored, 32 digits; nil: there is no value.
  package let checksum: InspectedHash?
  /// Whether checksum, hash and value fit together.
  package let isSound: Bool
  /// The coded id of the page after the last one.
  package let nextPageID: Data?
  /// The coded id of the page before the first one.
  package let previousPageID: Data?
  /// The pages without their values, of an infinite query; empty for others.
  package let pages: [InspectedPage]
  /// The coded value; nil: there is none, or it is in pages.
  package let value: Data?

  /// A value as a person reads it.
  package enum Text: Hashable, Sendable {
    /// JSON, with a line for each key.
    case json(String)
    /// A property list, as XML.
    case propertyList(String)
    /// Of a coder that is not known, or unreadable: the bytes.
    case bytes(Data)
  }

  /// A coded value as a person reads it.
  ///
  /// - Parameters:
  ///   - data: The bytes.
  ///   - coder: The name of its coder.
  package static func text(of data: Data, coder: String) -> Text {
    switch coder {
    case "json": PrettyJSON.text(of: data).map { .json($0) } ?? .bytes(data)
    case "propertyList": Self.propertyList(data).map { .propertyList($0) } ?? .bytes(data)
    default: .bytes(data)
    }
  }

  /// So many bytes a property list may have, and so many parts, to be laid out.
  private static let maximumListBytes = 1 << 20
  private static let maximumListParts = 100_000

  private static func propertyList(_ data: Data) -> String? {
    guard data.count <= Self.maximumListBytes,
      BinaryPropertyList(data)?.parts(upTo: Self.maximumListParts) != nil,
      let list = try? PropertyListSerialization.propertyList(from: data, format: nil),
      let xml = try? PropertyListSerialization.data(
        fromPropertyList: list, format: .xml, options: 0)
    else { return nil }
    return String(decoding: xml, as: UTF8.self)
  }
}

/// A page of an infinite query.
package struct InspectedPage: Hashable, Sendable {
  /// Its place, from 0.
  package let index: Int
  /// The number that orders it, as it is stored.
  package let position: Int64
  /// The coded id.
  package let pageID: Data
  /// The bytes of the value.
  package let byteCount: Int
  /// When the value of the query was last updated as this page was written, microseconds since 1970.
  package let updatedAt: Int64
  /// Whether the bytes are those that were written.
  package let isSound: Bool
}
