/// What stands in a file in the place of the name of an account that was erased: a hash, by which its
/// row is found again by who knows the name, and which nobody can read the name from.
///
/// The row itself stays, since its epoch tells a write that was on its way from a later one.
struct ErasedName: Hashable, Sendable {
  /// What names of that kind begin with.
  static let prefix = "erased:"

  /// What the names of rows begin with whose account has another number now.
  private static let prefixOfRows = "\(Self.prefix)rows "

  /// The text in the file.
  let text: String

  /// - Parameter name: The name of the account.
  init(of name: String) { self.text = Self.prefix + XXH128(hashing: name).description }

  /// The name of rows that are to be deleted, and belong to no account.
  ///
  /// - Parameter partition: The number of what was an account.
  init(ofRowsIn partition: Int64) { self.text = "\(Self.prefixOfRows)\(partition)" }

  /// Whether a name in a file is that of rows that are to be deleted.
  static func isOfRows(_ name: String) -> Bool { name.hasPrefix(Self.prefixOfRows) }
}
