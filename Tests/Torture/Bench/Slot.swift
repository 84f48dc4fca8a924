import Foundation
import TestSupport

/// The place of a worker in a round, and the process that has it at the moment.
struct Slot {
  /// What the process was started with.
  var order: WorkerOrder
  /// The process; nil: it has ended.
  var child: ChildProcess?
  /// Whether the bench has killed it.
  var isKilled = false
  /// When it was stopped, and when it goes on.
  var stop: Disturbances.Span?
}
