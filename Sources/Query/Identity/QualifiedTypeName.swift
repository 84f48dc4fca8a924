/// A type's name with its module and its generic arguments, the same on every launch.
///
/// The runtime names the file or function that a private or local type is in by its address:
/// `App.(unknown context at $55d1863466a8).Filter`. Addresses differ at every launch, so that
/// component is left out, at every level and in every generic argument.
enum QualifiedTypeName {
  static func of(_ type: Any.Type) -> String {
    Self.withoutAddresses(String(reflecting: type))
  }

  static func withoutAddresses(_ name: String) -> String {
    var result = ""
    var rest = Substring(name)
    while let start = rest.firstRange(of: "(unknown context at $") {
      let digits = rest[start.upperBound...].prefix(while: \.isHexDigit)
      let end = rest[digits.endIndex...]
      if end.hasPrefix(").") {
        result += rest[..<start.lowerBound]
        rest = end.dropFirst(2)
      } else {
        // No address after all, but a name that a person has put in backticks.
        result += rest[..<digits.endIndex]
        rest = end
      }
    }
    return result + rest
  }
}
