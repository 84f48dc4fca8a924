/// What one object knows another one of its own class by.
///
/// Beside a property of the class itself, the compiler frees the whole chain in a loop, which cannot overflow the
/// stack and counts each object once more, though another thread may count the same one. A chain behind these
/// is freed by calls inside one another, so it must be short.
@usableFromInline
struct ChainLink<Object: AnyObject> {
  @usableFromInline var object: Object?

  @inlinable
  init(_ object: Object? = nil) { self.object = object }
}
