/// What stands in a file in the place of the name of an account that was erased: a hash, by which its
/// row is found again by who knows the name, and which nobody can read the name from.
///
/// The row itself stays, since its epoch tells a write that was on its way from a later one.
struct ErasedName: Hashable, Sendable {
  /// What names of that kind begin with.
  static let prefix = "erased:"

  /// The text in the file.
  let text: String

  /// - Parameter name: The name of the account.
  init(of name: String) { self.text = Self.prefix + XXH128(hashing: name).description }
}
