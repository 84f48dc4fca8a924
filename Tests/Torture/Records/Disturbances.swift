/// What the bench has done to its workers, which excuses some of what they were told.
struct Disturbances: Sendable {
  /// Something that lasted.
  struct Span: Hashable, Sendable {
    var from: Moment
    var to: Moment
  }

  /// Processes that did not move.
  var stops = [Span]()
  /// Times in which the disk was full.
  var fullDisks = [Span]()
  /// When each process ended, or was killed.
  var ends = [String: Moment]()
  /// How many were killed.
  var kills = 0
}

extension Disturbances {
  /// Writers wait so long for the lock of another process, less some time for what else is to be done.
  private static let busyPatience = Moment.seconds(2)

  /// So long after there is room again it may take to be noticed: the pauses between tries double.
  private static let recovery = Moment.seconds(40)

  /// Whether a storage may complain so at this moment.
  ///
  /// - Parameter complaint: What it has said.
  func excuse(_ complaint: Acknowledgements.Complaint) -> Bool {
    switch complaint.code {
    // Only the lock of a process that does not move lasts so long.
    case 5, 6:
      self.stops.contains {
        $0.to - $0.from > Self.busyPatience
          && $0.from <= complaint.moment
          && complaint.moment <= $0.to + .seconds(20)
      }
    // Full, an I/O error, a file that cannot be opened or grown.
    case 10, 13, 14:
      self.fullDisks.contains {
        $0.from <= complaint.moment && complaint.moment <= $0.to + Self.recovery
      }
    default: false
    }
  }

  /// Whether leases may have ended between two moments though their processes live: one was stopped for
  /// more than half of a lease, perhaps while it held the lock by which all of them are extended.
  func mayHaveEndedLeases(from: Moment, to: Moment, lease: Moment) -> Bool {
    (self.stops + self.fullDisks).contains {
      $0.to - $0.from > lease / 2 && $0.from <= to && from - lease <= $0.to
    }
  }
}
