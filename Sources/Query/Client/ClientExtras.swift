/// What layers above the client keep for it, by their types, which it does not know.
final class ClientExtras: Sendable {
  private let values = Locked([ObjectIdentifier: any Sendable]())

  /// The value of a type.
  ///
  /// - Parameter make: Makes it if there is none. If two threads do, one of both is kept.
  func value<Value: Sendable>(_ make: () -> Value) -> Value {
    let key = ObjectIdentifier(Value.self)
    if let value = self.values.withLock({ $0[key] }) as? Value { return value }
    let made = make()
    let kept = self.values.withLock { values -> any Sendable in
      if let first = values[key] { return first }
      values[key] = made
      return made
    }
    return kept as? Value ?? made
  }
}
