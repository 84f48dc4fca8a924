import Foundation

/// What a worker does.
enum Role: String, Codable, CaseIterable, Sendable {
  /// Writes values, and flushes them.
  case values
  /// Reads the values of all others.
  case read
  /// Enqueues mutations.
  case enqueue
  /// Mutates, so that it sends if it may.
  case mutate
  /// Sends what is due.
  case replay
  /// Enqueues and sends.
  case both
  /// Opens the storage, does a little, and closes it, or releases it without closing.
  case reopen
  /// Looks into the store as the tools do: lists, checks, exports, and vacuums.
  case inspect
  /// Fills an account of its own, and erases it.
  case erase
  /// Sends until nothing is live.
  case drain

  /// Those that are drawn for a round.
  static let drawn = Role.allCases.filter { $0 != .drain }
}

/// What a worker is started with, one argument of its command line.
struct WorkerOrder: Codable, Sendable {
  var role: Role
  /// The worker's name, which it shares with those whose place it takes.
  var writer: String
  /// How many processes had the name before, from 1.
  var incarnation: Int
  /// The folder of the bench: `store/` and the logs are in it.
  var folder: String
  var seed: UInt64
  /// When it is to end.
  var until: Moment
  /// How many pages the log may have before a checkpoint.
  var checkpointFrames: Int
  /// Whether nearly nothing of the history is kept.
  var prunes: Bool
  /// The length of a lease.
  var lease: Moment
  /// How many workers there are, whose names are numbers from 0.
  var writers: Int
  /// The process that has started it.
  var parent: Int32

  /// What no other process of the folder is called.
  var process: String { "\(self.writer).\(self.incarnation)" }

  /// The folder of the storage.
  var storage: URL { URL(filePath: "\(self.folder)/store", directoryHint: .isDirectory) }

  /// The path of a worker's log.
  static func log(of writer: String, in folder: String) -> String { "\(folder)/\(writer).log" }

  /// The path of the server's log.
  static func serverLog(in folder: String) -> String { "\(folder)/server.log" }

  /// The path of the clock.
  static func clock(in folder: String) -> String { "\(folder)/clock" }
}
