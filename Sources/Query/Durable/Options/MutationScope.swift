/// Which lane a durable mutation is in.
///
/// Mutations of one lane are sent one after another, in the order in which they were enqueued,
/// whatever their names; lanes do not wait for one another.
public struct MutationScope<Arguments: Sendable>: Sendable {
  private let makeLane: (@Sendable (Arguments) -> String)?
  /// As a caller would write it.
  let summary: String

  /// A lane of its own for each mutation.
  public static var none: Self { Self(makeLane: nil, summary: ".none") }

  /// One lane for all of them.
  ///
  /// - Parameter lane: The name of the lane, which mutations of other types may share.
  public static func named(_ lane: String) -> Self {
    Self(makeLane: { _ in lane }, summary: ".named(\"\(lane)\")")
  }

  /// A lane by the arguments, as one for each note.
  ///
  /// - Parameter lane: Names the lane of the arguments.
  public static func by(_ lane: @escaping @Sendable (Arguments) -> String) -> Self {
    Self(makeLane: lane, summary: ".by")
  }

  /// Whether mutations have a lane that others may share.
  var hasLane: Bool { self.makeLane != nil }

  func lane(of arguments: Arguments) -> String? { self.makeLane?(arguments) }
}
