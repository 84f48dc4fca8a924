/// What became of the mutations in one ``MutationReplayer/replayOnce(deadline:)``.
public struct ReplaySummary: Hashable, Sendable {
  /// How many it has ended: succeeded, or superseded by what the server has.
  public var succeeded: Int
  /// How many it has tried without success and left pending.
  public var failed: Int
  /// How many others are left: pending, or just being sent by another run, or another process.
  public var waiting: Int
  /// How many it has declared dead, with those that died of it: they waited for one that has ended.
  public var dead: Int

  /// Creates a summary. See the properties for what each is.
  public init(succeeded: Int = 0, failed: Int = 0, waiting: Int = 0, dead: Int = 0) {
    self.succeeded = succeeded
    self.failed = failed
    self.waiting = waiting
    self.dead = dead
  }
}
