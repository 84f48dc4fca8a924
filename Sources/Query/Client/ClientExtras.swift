/// What layers above the client keep for it, by their types, which it does not know.
final class ClientExtras: Sendable {
  // A dictionary behind a lock by itself costs a launch 50 µs, since its type is made then.
  private struct Guarded {
    var values = [ObjectIdentifier: any Sendable]()
  }

  private let guarded = Locked(Guarded())

  /// The value of a type.
  ///
  /// - Parameter make: Makes it if there is none. If two threads do, one of both is kept.
  func value<Value: Sendable>(_ make: () -> Value) -> Value {
    let key = ObjectIdentifier(Value.self)
    if let value = self.guarded.withLock({ $0.values[key] }) as? Value { return value }
    let made = make()
    let kept = self.guarded.withLock { guarded -> any Sendable in
      if let first = guarded.values[key] { return first }
      guarded.values[key] = made
      return made
    }
    return kept as? Value ?? made
  }
}
