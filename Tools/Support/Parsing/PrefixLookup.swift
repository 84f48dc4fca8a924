/// Finds a name by its prefix.
package enum PrefixLookup {
  /// How many candidates are named if a prefix is ambiguous.
  private static let maximumNamed = 10

  /// The index of the name.
  ///
  /// - Parameters:
  ///   - prefix: The whole name or its prefix; upper and lower case count the same.
  ///   - names: The existing names.
  ///   - noun: What each is, as `mutation`.
  /// - Throws: ``UsageError`` if no name begins so, or several do, which it names.
  package static func index(
    of prefix: String, in names: [String], noun: String
  ) throws(UsageError) -> Int {
    let wanted = prefix.lowercased()
    if wanted.isEmpty { throw UsageError("the \(noun) has an empty name") }
    let names = names.map { $0.lowercased() }
    if let whole = names.firstIndex(of: wanted) { return whole }
    let found = names.indices.filter { names[$0].hasPrefix(wanted) }
    if found.count == 1 { return found[0] }
    if found.isEmpty { throw UsageError("there is no \(noun) “\(prefix)”") }
    var candidates = found.prefix(Self.maximumNamed).map { names[$0] }.joined(separator: ", ")
    if found.count > Self.maximumNamed {
      candidates += " and \(found.count - Self.maximumNamed) more"
    }
    throw UsageError("“\(prefix)” is the beginning of \(found.count): \(candidates)")
  }
}
