import Query

/// Identities of types whose names have an address in them, or are long, as this process writes them.
enum Identities {
  private struct Secret: Hashable, Sendable {
    let id: Int
  }

  private enum Kind: Hashable, Sendable {
    case plain
    case tagged(Secret, [String: Secret])
  }

  private struct Box<Content: Hashable & Sendable>: Hashable, Sendable {
    struct Inner: Hashable, Sendable {
      let content: Content
    }

    let inner: Inner
  }

  static func all() throws -> [String] {
    let secret = Secret(id: 3)
    let paths: [QueryPath] = [
      [secret],
      [Box(inner: Box.Inner(content: secret))],
      [Box(inner: Box.Inner(content: [Kind.tagged(secret, ["b": secret, "a": secret])]))],
      [Set([Kind.plain, .tagged(secret, [:]), .tagged(Secret(id: 4), [:])])],
    ]
    return try paths.map { try QueryIdentity(path: $0).text }
  }
}
