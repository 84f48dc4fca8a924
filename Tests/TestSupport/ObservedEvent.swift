/// One event of a store, as a value that a test compares. Page identifiers, arguments, values and
/// errors are spelled as `"\(...)"` spells them.
public enum ObservedEvent: Hashable, Sendable {
  /// The state changed.
  case stateChanged
  /// A fetch began.
  case fetchingStarted
  /// The request of a fetch yielded this.
  case yielded(String)
  /// The request of a fetch returned or threw this.
  case returned(String)
  /// A fetch ended.
  case fetchingEnded
  /// The fetch of a page began.
  case pageStarted(String)
  /// The fetch of a page yielded this.
  case pageYielded(String, String)
  /// The fetch of a page returned or threw this.
  case pageReturned(String, String)
  /// The fetch of a page ended.
  case pageEnded(String)
  /// An attempt with these arguments began.
  case mutatingStarted(String)
  /// An attempt with these arguments yielded this.
  case mutationYielded(String, String)
  /// An attempt with these arguments returned or threw this.
  case mutationReturned(String, String)
  /// An attempt with these arguments ended.
  case mutatingEnded(String)
}
