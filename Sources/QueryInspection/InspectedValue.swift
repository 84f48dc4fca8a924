package import FoundationEssentials

/// The content of an entry, as stored.
package struct InspectedValue: Hashable, Sendable {
  /// The entry.
  package let entry: InspectedEntry
  /// The name of the type of the last error, while that is the newest result.
  package let errorType: String?
  /// The text of that error.
  package let errorText: String?
  /// The checksum as stored, 32 digits; nil: there is no value.
  package let checksum: InspectedHash?
  /// Whether checksum, hash and value match.
  package let isSound: Bool
  /// The encoded ID of the page after the last one.
  package let nextPageID: Data?
  /// The encoded ID of the page before the first one.
  package let previousPageID: Data?
  /// The pages of an infinite query without their values; empty for others.
  package let pages: [InspectedPage]
  /// The encoded value; nil: there is none, or it is in pages.
  package let value: Data?
  /// What the request finds again with its value; nil: nothing.
  package let metadata: Data?
  /// How old the value may be before it is stale, in microseconds; nil: the query's modifiers say it.
  package let freshFor: Int64?

  /// A value in a readable form.
  package enum Text: Hashable, Sendable {
    /// JSON, a line for each key.
    case json(String)
    /// A property list, as XML.
    case propertyList(String)
    /// The bytes, if the coder is unknown or the value is unreadable.
    case bytes(Data)
  }

  /// An encoded value in a readable form.
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

  /// Larger property lists, or ones with more parts, are shown as bytes.
  private static let maximumListBytes = 1 << 20
  private static let maximumListParts = 100_000

  private static func propertyList(_ data: Data) -> String? {
    guard data.count <= Self.maximumListBytes,
      let list = BinaryPropertyList(data), list.parts(upTo: Self.maximumListParts) != nil
    else { return nil }
    return PropertyListXML.text(of: list)
  }
}

/// A page of an infinite query.
package struct InspectedPage: Hashable, Sendable {
  /// Its index, from 0.
  package let index: Int
  /// Its position, as stored.
  package let position: Int64
  /// The encoded ID.
  package let pageID: Data
  /// The bytes of the value.
  package let byteCount: Int
  /// The query's last value update when this page was written, microseconds since 1970.
  package let updatedAt: Int64
  /// Whether its bytes are those that were written.
  package let isSound: Bool
  /// What the request finds again with the page; nil: nothing.
  package let metadata: Data?
}
