import Foundation
import TestSupport

/// A folder with a store, the logs of its workers and of the server, over several rounds.
final class BenchFolder {
  /// The absolute path.
  let path: String
  /// What is drawn from for its rounds.
  let seed: UInt64
  let mode: Mode
  /// The clock of its workers.
  let clock: SharedClock
  /// The small disk that holds the store, if there is one.
  private(set) var disk: SmallDisk?
  /// What was done to its workers so far.
  var disturbances = Disturbances()

  private let workers: Int
  /// How many processes each place of a worker had.
  private var incarnations = [Int: Int]()

  private var store: String { "\(self.path)/store" }

  /// - Parameters:
  ///   - path: The folder, which is made.
  ///   - seed: What is drawn from for its rounds.
  ///   - mode: What is done to its workers.
  ///   - workers: How many there are.
  /// - Throws: What making a folder throws.
  init(_ path: String, seed: UInt64, mode: Mode, workers: Int) throws {
    (self.path, self.seed, self.mode, self.workers) = (path, seed, mode, workers)
    try FileManager.default.createDirectory(
      atPath: "\(path)/store", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    self.clock = try SharedClock(at: WorkerOrder.clock(in: path))
    // Roomy enough for what waits, small enough to be filled at once.
    if mode == .mixed { self.disk = try? SmallDisk(at: self.store, bytes: 256 << 20) }
  }

  /// Starts a worker. From the main thread, with which workers end.
  ///
  /// - Parameters:
  ///   - role: What it does.
  ///   - number: Its place.
  ///   - plan: The round's.
  ///   - until: When it ends.
  /// - Throws: `POSIXError`.
  func slot(_ role: Role, _ number: Int, _ plan: RoundPlan, until: Moment) throws -> Slot {
    let incarnation = (self.incarnations[number] ?? 0) + 1
    self.incarnations[number] = incarnation
    let order = WorkerOrder(
      role: role, writer: "\(number)", incarnation: incarnation, folder: self.path,
      seed: self.seed &+ UInt64(number * 1_000_003 + incarnation), until: until,
      checkpointFrames: plan.checkpointFrames, prunes: plan.prunes, lease: self.mode.lease,
      writers: self.workers,
      parent: getpid())
    let argument = String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
    return Slot(order: order, child: try Self.start(["worker", argument]))
  }

  private static func start(_ arguments: [String]) throws -> ChildProcess {
    try ChildProcess("/proc/self/exe", arguments, output: .inherited)
  }
}

// MARK: - Looking

extension BenchFolder {
  /// Looks at the files, and holds them against what is known. Nobody else may have them.
  ///
  /// - Parameter isDrained: Whether all that was live was sent before.
  /// - Throws: `POSIXError`; ``Interrupted``.
  func account(isDrained: Bool) throws -> Account {
    let log = Audit.log(in: self.path)
    try? FileManager.default.removeItem(atPath: log)
    let end = try Self.wait(
      for: try Self.start(["audit", self.path, "\(self.workers)"]), until: .now + .seconds(120))
    var account = Account(lease: self.mode.lease)
    account.found = FoundState.read(log)
    if end != .code(0) { account.found.damage.append("the audit ended so: \(end)") }
    account.isDrained = isDrained
    account.disturbances = self.disturbances
    account.attempts = Attempt.read(WorkerOrder.serverLog(in: self.path))
    for number in 0..<self.workers {
      account.acknowledged.read(WorkerOrder.log(of: "\(number)", in: self.path))
    }
    return account
  }

  /// Sends all that is live.
  ///
  /// - Returns: Whether nothing is any more.
  /// - Throws: `POSIXError`; ``Interrupted``.
  func drain(_ plan: RoundPlan) throws -> Bool {
    let slot = try self.slot(.drain, 0, plan, until: .now)
    guard let child = slot.child else { return false }
    let end = try Self.wait(for: child, until: .now + .seconds(120))
    self.disturbances.ends[slot.order.process] = .now
    return end == .code(0)
  }

  /// - Returns: How it ended; it is killed if that takes too long.
  private static func wait(
    for child: ChildProcess, until: Moment
  ) throws -> ChildProcess.End {
    while true {
      if let end = child.endSoFar { return end }
      if EndSignal.hasCome() || Moment.now > until {
        let isLate = Moment.now > until
        child.kill()
        let end = child.waitUntilEnd()
        if isLate { return end }
        throw Interrupted()
      }
      usleep(10_000)
    }
  }

  /// Writes down the stacks of a process's threads, if there is a debugger.
  ///
  /// - Returns: The file.
  func trace(of pid: Int32) -> String {
    let file = "\(self.path)/trace-\(pid)"
    let command = """
      if command -v gdb; then timeout 60 gdb -p \(pid) -batch -ex 'thread apply all bt'
      else timeout 60 eu-stack -p \(pid)
      fi >'\(file)' 2>/dev/null
      """
    try? ChildProcess.run("/bin/sh", ["-c", command])
    return file
  }
}

// MARK: - Ending

extension BenchFolder {
  /// Unmounts the small disk; its content is copied before, if it is to be kept.
  func finish(isKept: Bool) {
    if self.disk != nil, isKept {
      try? ChildProcess.run("/bin/cp", ["-a", self.store, "\(self.path)/kept"])
    }
    self.disk = nil
    if !isKept { try? FileManager.default.removeItem(atPath: self.path) }
  }
}
