/// Why a path has no ``QueryIdentity``.
public enum QueryIdentityError: Error, Hashable, CustomStringConvertible {
  /// A value has no text that would be the same on every launch: an instance of a class that is not
  /// `Encodable`, a closure, a metatype, a pointer, a type with a mirror of its own that is not
  /// `Encodable`, a type that shows nothing of what it stores, an `encode(to:)` that throws, or
  /// more than 128 values inside one another.
  ///
  /// - Parameters:
  ///   - element: The element of the path that is the value, or that contains it.
  ///   - type: The type of the value, with its module and its generic arguments.
  case notRepresentable(element: QueryPath.Element, type: String)

  /// Which type it is, and what to do about it.
  public var description: String {
    switch self {
    case .notRepresentable(let element, let type):
      let elementType = QualifiedTypeName.of(Swift.type(of: element.base))
      let place = elementType == type ? "a path element" : "a path element of type \(elementType)"
      return """
        A value of type \(type), in \(place), has no identity that is the same on every launch. \
        Conform \(type) to Codable, with an encode(to:) that neither throws nor nests more than \
        \(CanonicalWriter.maximumDepth) values, or give the query an identity with \
        PersistenceOptions(identity:).
        """
    }
  }
}
