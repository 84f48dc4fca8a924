/// A value that is found by a ``QueryPath``.
///
/// Queries and stores are. The path of an element of a ``QueryPathableCollection`` must not change
/// while the element is in it.
public protocol QueryPathable {
  /// The path at which the value is found.
  var path: QueryPath { get }
}
