/// A reference from one object to another one of its own class.
///
/// A chain of objects whose class has a property of its own type is freed in a loop, which cannot overflow the stack,
/// but retains and releases each object once more, for which threads that share one contend. A chain of these is
/// freed recursively, so it must be short.
@usableFromInline
struct ChainLink<Object: AnyObject> {
  @usableFromInline var object: Object?

  @inlinable
  init(_ object: Object? = nil) { self.object = object }
}
