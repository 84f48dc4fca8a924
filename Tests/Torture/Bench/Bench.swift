import Foundation
import TestSupport

/// Runs rounds until its time is over, some on the folder of the one before, some on a new one.
struct Bench {
  private let options: BenchOptions
  private let folder: String
  private let began = Moment.now
  private var generator: SeededGenerator
  private var folders = 0
  private var tally = Tally()

  /// What came of all rounds.
  private struct Tally {
    var rounds = 0
    var kills = 0
    var stops = 0
    var acknowledged = 0
    var sent = 0
    var values = 0
    var failures = 0
  }

  /// - Parameter options: What the command line says.
  /// - Throws: What making a folder throws.
  init(_ options: BenchOptions) throws {
    self.options = options
    // The seed itself is that of the first folder, so that the seed of any folder repeats it.
    self.generator = SeededGenerator(seed: options.seed)
    self.folder =
      options.folder
      ?? FileManager.default.temporaryDirectory.appending(path: "torture-\(getpid())").path
    try FileManager.default.createDirectory(
      atPath: self.folder, withIntermediateDirectories: true)
  }

  private var left: Moment { self.began + .seconds(self.options.minutes * 60) - .now }

  /// Runs it.
  ///
  /// - Returns: The exit code.
  /// - Throws: What starting workers and making folders throws.
  mutating func run() throws -> Int32 {
    report("torture: mode \(self.options.mode), seed \(self.options.seed), in \(self.folder)")
    var seed = self.options.seed
    do {
      repeat {
        try self.runFolder(seed)
        seed = self.generator.next() % 1_000_000_000
      } while self.left > .seconds(3)
    } catch is Interrupted {
      report("torture: interrupted")
      self.summarise()
      return 130
    }
    self.summarise()
    return self.tally.failures == 0 ? 0 : 1
  }

  /// Some rounds on one folder, and at the end all that is live is sent.
  private mutating func runFolder(_ seed: UInt64) throws {
    self.folders += 1
    let folder = try BenchFolder(
      "\(self.folder)/\(getpid())-\(self.folders)-\(seed)", seed: seed, mode: self.options.mode,
      workers: self.options.processes)
    if self.options.mode == .mixed, folder.disk == nil, self.folders == 1 {
      report("torture: no full disks, since only root can mount a small file system")
    }
    var generator = SeededGenerator(seed: seed)
    let rounds = Int.random(in: 1...3, using: &generator)
    var isKept = self.options.isKeeping
    defer { folder.finish(isKept: isKept) }
    var account: Account?
    for number in 1...rounds where number == 1 || self.left > .seconds(3) {
      let isLast = number == rounds
      let next = try self.runRound(number, isLast: isLast, folder, after: account, &generator)
      guard let next else {
        isKept = true
        break
      }
      account = next
    }
    if let account { self.count(account) }
  }

  /// - Returns: The account; nil if it is not as it should be.
  private mutating func runRound(
    _ number: Int, isLast: Bool, _ folder: BenchFolder, after last: Account?,
    _ generator: inout SeededGenerator
  ) throws -> Account? {
    let plan = RoundPlan(
      mode: self.options.mode, workers: self.options.processes,
      length: max(self.left, .seconds(2)), using: &generator)
    let killed = folder.disturbances.kills
    var round = Round(plan, in: folder)
    try round.run()
    var breaches = round.breaches
    var account = try folder.account(isDrained: false)
    breaches += account.breaches()
    if breaches.isEmpty, isLast || self.left <= .seconds(3) {
      if try !folder.drain(plan) { breaches.append("what is live was not sent within 120 s") }
      account = try folder.account(isDrained: true)
      breaches += account.breaches()
    }
    self.tally.rounds += 1
    self.tally.kills += folder.disturbances.kills - killed
    self.tally.stops += round.stops
    let seconds = Double(plan.length) / 1_000_000
    report(
      """
      round \(self.tally.rounds), seed \(folder.seed) number \(number), \
      \(String(format: "%.0f", seconds)) s, frames \(plan.checkpointFrames), \
      \(plan.roles.map(\.rawValue).joined(separator: " ")): \
      \(folder.disturbances.kills - killed) kills, \(round.stops) stops, \
      \(account.acknowledged.mutations.count - (last?.acknowledged.mutations.count ?? 0)) \
      acknowledged: \(breaches.isEmpty ? "ok" : "FAILED")
      """)
    if breaches.isEmpty { return account }
    self.fail(breaches, folder, number)
    self.count(account)
    return nil
  }

  private mutating func fail(_ breaches: [String], _ folder: BenchFolder, _ number: Int) {
    self.tally.failures += 1
    for breach in breaches.prefix(40) { report("  \(breach)") }
    if breaches.count > 40 { report("  and \(breaches.count - 40) more") }
    report("  kept: \(folder.path)")
    report(
      """
        again: Tools/torture --mode \(self.options.mode) --seed \(folder.seed) \
      --processes \(self.options.processes) --minutes \(number)  (its round \(number))
      """)
  }

  private mutating func count(_ account: Account) {
    self.tally.acknowledged += account.acknowledged.mutations.count
    self.tally.sent += Set(account.attempts.map(\.mutation)).count
    self.tally.values += account.acknowledged.values.count
  }

  private func summarise() {
    if self.options.folder == nil { rmdir(self.folder) }
    let tally = self.tally
    report(
      """
      torture: \(tally.rounds) rounds, \(tally.kills) kills, \(tally.stops) stops, \
      \(tally.acknowledged) acknowledged mutations, \(tally.sent) sent, \(tally.values) values, \
      \(tally.failures) failures
      """)
  }
}
