/// When a writer checkpoints: after a commit that makes the WAL longer than its limit, and after a
/// second without a commit. After a try that a reader blocked, no process tries again during a
/// pause, twice as long each time: while a checkpoint waits for a reader, no connection can write.
///
/// Once the reader has left, the next try comes when the pause ends, so within a minute.
struct CheckpointSchedule {
  /// The first pause.
  static let shortestPause = Duration.milliseconds(100)

  /// After this long without a commit the WAL is checkpointed.
  static let idleTime = Duration.seconds(1)

  /// A checkpoint should not keep writers out for longer than this. Its pages must reach the disk
  /// meanwhile, and disks differ a thousandfold.
  static let longestHold = Duration.milliseconds(25)

  /// However slow the disk, the WAL may have this many frames, or every commit would checkpoint.
  static let fewestFrames = 100

  /// How many frames the WAL may have on a fast disk.
  private let mostFrames: Int

  /// How many frames the WAL may have now.
  private(set) var frameLimit: Int

  /// How many frames the WAL had after the last commit; nil: not known.
  private var lastFrames: Int?

  /// The pause that all processes share.
  private let shared: CheckpointPause

  /// When to call ``isDue(_:)``, if nothing is committed until then; nil: not at all.
  private(set) var due: SuspendingClock.Instant?

  /// Whether the disk was full for the last checkpoint. As soon as there is room the WAL must not take it:
  /// it would grow until nothing is left for the file that could take its place.
  private var isFull = false

  /// The pause in which this process does not try; nil: no reader is known to be in the way.
  private(set) var pause: Pause?

  struct Pause: Equatable {
    let until: SuspendingClock.Instant
    let length: Duration
    /// Whether other processes can see it.
    var isShared = true
  }

  init(frameLimit: Int, _ shared: CheckpointPause) {
    (self.mostFrames, self.frameLimit, self.shared) = (frameLimit, frameLimit, shared)
  }

  /// Records a commit.
  ///
  /// - Parameter frames: How many frames the WAL has.
  /// - Returns: Whether to checkpoint now.
  mutating func didCommit(frames: Int, _ now: SuspendingClock.Instant = .now) -> Bool {
    // A commit as long as this one must not make it too long, either.
    let added = self.lastFrames.map { frames - $0 } ?? 0
    self.lastFrames = frames
    let isTooLong = frames + max(added, 0) > (self.isFull ? 0 : self.frameLimit)
    if isTooLong || self.pause != nil, self.isPaused(now) { return false }
    if isTooLong { return true }
    self.due = frames > 0 ? now + Self.idleTime : nil
    return false
  }

  /// Whether to checkpoint now, although nothing was committed.
  mutating func isDue(_ now: SuspendingClock.Instant = .now) -> Bool {
    guard let due, now >= due else { return false }
    return !self.isPaused(now)
  }

  /// Makes a checkpoint due now.
  mutating func checkpointSoon(_ now: SuspendingClock.Instant = .now) { self.due = now }

  /// Records a checkpoint.
  ///
  /// - Parameter held: How long it kept writers out.
  mutating func didCheckpoint(
    _ outcome: CheckpointOutcome, held: Duration = .zero, _ now: SuspendingClock.Instant = .now
  ) {
    self.isFull = outcome == .full
    switch outcome {
    case .complete:
      self.lastFrames = 0
      self.adaptLimit(toHold: held)
      if let shared = self.shared.read(), shared.length > .zero { self.shared.end() }
      (self.due, self.pause) = (nil, nil)
    // Nobody waits for a checkpoint that finds no room, so it needs no pause.
    case .busy, .full: self.due = now + Self.idleTime
    case .blocked:
      // Two tries at the same time met the same reader.
      if self.isPaused(now) { return }
      let last = self.shared.read()?.length ?? self.pause?.length ?? .zero
      let length = min(max(last * 2, Self.shortestPause), CheckpointPause.longest)
      let isShared = self.shared.begin(length)
      self.pause = Pause(until: now + length, length: length, isShared: isShared)
      self.due = now + length
    }
  }

  /// The part of its full length that the WAL may have now.
  var limitShare: Double { Double(self.frameLimit) / Double(max(self.mostFrames, 1)) }

  /// Makes the next checkpoint shorter after one that took too long, and longer step by step after
  /// fast ones.
  private mutating func adaptLimit(toHold held: Duration) {
    if held > Self.longestHold {
      let limit = Int(Double(self.frameLimit) * (Self.longestHold / held))
      self.frameLimit = max(limit, min(Self.fewestFrames, self.mostFrames))
    } else if held < Self.longestHold / 2 {
      self.frameLimit = min(self.frameLimit + self.frameLimit / 4 + 1, self.mostFrames)
    }
  }

  /// Whether a pause of this process or another is running; then the next try is at its end.
  private mutating func isPaused(_ now: SuspendingClock.Instant) -> Bool {
    if self.pause?.isShared ?? true, let shared = self.shared.read() {
      if shared.length == .zero {
        // Another process's checkpoint has succeeded.
        self.pause = nil
      } else if shared.remaining > .zero,
        self.pause?.length != shared.length || self.pause.map({ $0.until <= now }) ?? true
      {
        // The process that began the pause tries first, and the others not all at the same time.
        let delay = shared.length * Double.random(in: 0.05...0.25)
        self.pause = Pause(until: now + shared.remaining + delay, length: shared.length)
      }
    }
    guard let pause, now < pause.until else { return false }
    self.due = pause.until
    return true
  }
}
