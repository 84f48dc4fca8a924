import Query

/// The other processes that have a database open: it notifies them of commits, and learns of
/// theirs.
///
/// Used by the holder of the writer alone.
final class Neighbours {
  private let kind: DatabaseKind
  private let folder: String
  private let kick: ChangeKick

  /// Whether there is a commit of which they have not been notified.
  var hasCommitted = false

  /// Reports their commits; nil if the system has no watch left: then ``look(_:at:reopening:)``
  /// polls.
  private var watch: ChangeWatch?
  private var isFollowing = false
  private var lastDataVersion: Int64 = 0

  /// When to look next: kicks, which include this process's own, are not answered one by one.
  private var lookDue = SuspendingClock.now

  /// Whether the watch has reported that a file was moved or removed, and this was not looked at yet:
  /// the others of the folder often follow it, and only together they tell what has happened.
  private var isMoveReported = false
  private var pollDue = SuspendingClock.now

  /// When to begin to watch; nil: that was done.
  private var watchDue: SuspendingClock.Instant?

  /// How long a file is open before it is watched. The kernel takes some ten milliseconds to take a
  /// watch back, which a short command would wait for at its end.
  static let unwatchedTime = Duration.milliseconds(100)

  init(kind: DatabaseKind, folder: String) {
    (self.kind, self.folder) = (kind, folder)
    self.kick = ChangeKick(kind: kind, folder: folder)
  }

  /// Begins to follow them, once this process has the file open.
  ///
  /// - Parameter delay: How long it does without a watch; then it looks for what they have done since.
  func follow(_ connection: SQLiteConnection, watchingAfter delay: Duration = unwatchedTime) {
    self.isFollowing = true
    self.watch = nil
    self.watchDue = .now + delay
    if delay <= .zero { self.beginWatching(connection) }
  }

  private func beginWatching(_ connection: SQLiteConnection) {
    self.watchDue = nil
    self.watch = ChangeWatch(kind: self.kind, folder: self.folder)
    if let version = try? connection.dataVersion { self.lastDataVersion = version }
  }

  /// Stops following them, before this process closes the file.
  func unfollow() {
    self.isFollowing = false
    self.isMoveReported = false
    (self.watch, self.watchDue) = (nil, nil)
  }

  /// Closes all files.
  func letGo() {
    self.unfollow()
    self.kick.letGo()
  }

  /// Prepares for a commit: if this process is killed before it has notified them, the system does.
  func willCommit() { if self.watch == nil { self.kick.hold() } }

  /// Notifies them of commits, if there were any. If no other process follows, nobody is notified,
  /// this one included.
  func notify() {
    if self.hasCommitted, self.watch?.hasOthers ?? true { self.kick.kick() }
    self.hasCommitted = false
  }

  /// The descriptor of the watch; nil: there is none.
  var watchDescriptor: Int32? { self.watch?.descriptor }

  /// A descriptor that is readable when they may have done something; nil if it is too early to
  /// look, or there is no watch.
  var descriptor: Int32? { .now >= self.lookDue ? self.watch?.descriptor : nil }

  /// When to look, whatever the descriptor says; nil: not at all.
  var due: SuspendingClock.Instant? {
    guard self.isFollowing else { return nil }
    if let watchDue { return watchDue }
    if self.watch == nil { return self.pollDue }
    return .now < self.lookDue ? self.lookDue : nil
  }

  /// Looks for what they have done.
  ///
  /// - Parameters:
  ///   - connection: The connection to the file that is followed.
  ///   - now: The time.
  ///   - reopen: Called if the file at the path may be another one by now. Opens that one, and
  ///     returns its connection. Its argument is whether the watch has reported so.
  /// - Returns: Whether they may have committed something.
  func look(
    _ connection: SQLiteConnection?, at now: SuspendingClock.Instant,
    reopening reopen: (_ isReported: Bool) -> SQLiteConnection?
  ) -> Bool {
    guard let connection else { return false }
    if let watchDue {
      if now < watchDue { return false }
      self.beginWatching(connection)
      _ = reopen(false)
      return true
    }
    guard let watch = self.watch else { return self.poll(connection, now, reopen) }
    if now < self.lookDue { return false }
    let changes = watch.drain()
    if changes.isEmpty, !self.isMoveReported { return false }
    self.lookDue = now + .milliseconds(20)
    if changes.contains(.ended) { self.watch = nil }
    if changes.contains(.kickMade) {
      self.hasCommitted = true
      self.notify()
    }
    if self.isMoveReported {
      self.isMoveReported = false
      _ = reopen(true)
    } else {
      self.isMoveReported = changes.contains(.databaseMoved)
    }
    return true
  }

  private func poll(
    _ old: SQLiteConnection, _ now: SuspendingClock.Instant,
    _ reopen: (_ isReported: Bool) -> SQLiteConnection?
  ) -> Bool {
    guard now >= self.pollDue else { return false }
    self.pollDue = now + .seconds(1)
    let connection = reopen(false)
    let version = try? connection?.dataVersion
    if connection === old, version == self.lastDataVersion { return false }
    self.lastDataVersion = version ?? 0
    return true
  }
}
