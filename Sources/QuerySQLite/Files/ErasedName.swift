/// Stands in a file for the name of an erased account: a hash, by which a caller that knows the
/// name finds the row again, and from which the name cannot be read.
///
/// The row itself stays, since its epoch tells a write that was under way from a later one.
struct ErasedName: Hashable, Sendable {
  /// The prefix of such names.
  static let prefix = "erased:"

  /// The prefix of the names of rows whose account has another number now.
  private static let prefixOfRows = "\(Self.prefix)rows "

  /// The text in the file.
  let text: String

  /// - Parameter name: The name of the account.
  init(of name: String) { self.text = Self.prefix + XXH128(hashing: name).description }

  /// The name of rows that are to be deleted, and belong to no account.
  ///
  /// - Parameter partition: The number of the former account.
  init(ofRowsIn partition: Int64) { self.text = "\(Self.prefixOfRows)\(partition)" }

  /// Whether a name in a file is that of rows that are to be deleted.
  static func isOfRows(_ name: String) -> Bool { name.hasPrefix(Self.prefixOfRows) }
}
