import Query

/// Values under ten keys; the nth is written as a number plus n.
protocol TenKeys {
  /// The sum of all.
  func readAll() -> Int
  mutating func writeAll(_ number: Int)
  /// Writes the fifth.
  mutating func writeOne(_ number: Int)
}

// Nothing here is inlined into the loops of the rows, lest the optimiser move it out of them.
extension QueryContext: TenKeys {
  @inline(never)
  func readAll() -> Int {
    var sum = self[Key0.self] &+ self[Key1.self] &+ self[Key2.self] &+ self[Key3.self]
    sum &+= self[Key4.self] &+ self[Key5.self] &+ self[Key6.self] &+ self[Key7.self]
    return sum &+ self[Key8.self] &+ self[Key9.self]
  }

  @inline(never)
  mutating func writeAll(_ number: Int) {
    self[Key0.self] = number
    self[Key1.self] = number &+ 1
    self[Key2.self] = number &+ 2
    self[Key3.self] = number &+ 3
    self[Key4.self] = number &+ 4
    self[Key5.self] = number &+ 5
    self[Key6.self] = number &+ 6
    self[Key7.self] = number &+ 7
    self[Key8.self] = number &+ 8
    self[Key9.self] = number &+ 9
  }

  @inline(never)
  mutating func writeOne(_ number: Int) { self[Key4.self] = number }
}

/// The plainest context there can be.
struct BareContext {
  private var values = [ObjectIdentifier: any Sendable]()

  subscript(_ key: Any.Type) -> Int {
    get { self.values[ObjectIdentifier(key)] as? Int ?? 0 }
    set { self.values[ObjectIdentifier(key)] = newValue }
  }
}

extension BareContext: TenKeys {
  @inline(never)
  func readAll() -> Int {
    var sum = self[Key0.self] &+ self[Key1.self] &+ self[Key2.self] &+ self[Key3.self]
    sum &+= self[Key4.self] &+ self[Key5.self] &+ self[Key6.self] &+ self[Key7.self]
    return sum &+ self[Key8.self] &+ self[Key9.self]
  }

  @inline(never)
  mutating func writeAll(_ number: Int) {
    self[Key0.self] = number
    self[Key1.self] = number &+ 1
    self[Key2.self] = number &+ 2
    self[Key3.self] = number &+ 3
    self[Key4.self] = number &+ 4
    self[Key5.self] = number &+ 5
    self[Key6.self] = number &+ 6
    self[Key7.self] = number &+ 7
    self[Key8.self] = number &+ 8
    self[Key9.self] = number &+ 9
  }

  @inline(never)
  mutating func writeOne(_ number: Int) { self[Key4.self] = number }
}

// MARK: - Keys

private protocol NumberKey: QueryContext.Key where Value == Int {}

extension NumberKey {
  static var defaultValue: Int { 0 }
}

private enum Key0: NumberKey {}
private enum Key1: NumberKey {}
private enum Key2: NumberKey {}
private enum Key3: NumberKey {}
private enum Key4: NumberKey {}
private enum Key5: NumberKey {}
private enum Key6: NumberKey {}
private enum Key7: NumberKey {}
private enum Key8: NumberKey {}
private enum Key9: NumberKey {}
