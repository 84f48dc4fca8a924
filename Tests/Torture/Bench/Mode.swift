/// What is done to the workers of a round.
enum Mode: String, CaseIterable, Sendable {
  /// Nothing.
  case calm
  /// They are stopped, some for longer than a lease, and go on; the clock jumps.
  case stop
  /// They are killed, and others take their places.
  case kill
  /// All of that, and a disk that is full for a while.
  case mixed

  var stops: Bool { self == .stop || self == .mixed }
  var kills: Bool { self == .kill || self == .mixed }

  /// The length of a lease: the library's own, or one that stops can outlast.
  var lease: Moment { self.stops ? .seconds(4) : .seconds(60) }
}
