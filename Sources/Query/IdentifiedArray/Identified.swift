/// A value together with what identifies it, so that an ``IdentifiedArray`` takes values that are not
/// `Identifiable`.
///
/// ```swift
/// var cities = IdentifiedArray(uniqueElements: [paris, rome], id: \.name)
/// cities[id: "Rome"]?.population += 1
/// ```
/// The id is taken once, when the value is wrapped: a later change of the value leaves it as it is.
@dynamicMemberLookup
public struct Identified<ID: Hashable, Value>: Identifiable {
  /// What identifies the value.
  public let id: ID

  /// The value.
  public var value: Value

  /// Wraps a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - id: What identifies it.
  @inlinable
  public init(_ value: Value, id: ID) {
    self.id = id
    self.value = value
  }

  /// A property of the value.
  @inlinable
  public subscript<T>(dynamicMember keyPath: KeyPath<Value, T>) -> T {
    self.value[keyPath: keyPath]
  }

  /// A property of the value.
  @inlinable
  public subscript<T>(dynamicMember keyPath: WritableKeyPath<Value, T>) -> T {
    get { self.value[keyPath: keyPath] }
    set { self.value[keyPath: keyPath] = newValue }
  }
}

extension Identified: Equatable where Value: Equatable {}
extension Identified: Hashable where Value: Hashable {}
extension Identified: Sendable where ID: Sendable, Value: Sendable {}
extension Identified: Encodable where ID: Encodable, Value: Encodable {}
extension Identified: Decodable where ID: Decodable, Value: Decodable {}

// MARK: - In an array

extension IdentifiedArray {
  /// Creates an array of values that a property identifies.
  ///
  /// - Parameters:
  ///   - values: The values. Two of them with one id are a programmer's mistake, and stop the program.
  ///   - id: The property of a value that identifies it.
  /// - Complexity: O(*n*), where *n* is the number of values.
  @inlinable
  public init<Value>(uniqueElements values: some Sequence<Value>, id: KeyPath<Value, ID>)
  where Element == Identified<ID, Value> {
    self.init(uniqueElements: values.lazy.map { Identified($0, id: $0[keyPath: id]) })
  }
}
