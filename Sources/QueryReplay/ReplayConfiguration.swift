public import Query

/// How a ``MutationReplayer`` sends what is due.
public struct ReplayConfiguration: Sendable {
  /// How many mutations it sends at a time, over all of its runs. 4 by default.
  public var maximumConcurrency: Int

  /// How many of those may go to one host. 2 by default.
  public var maximumPerHost: Int

  /// How often it looks at the outbox if nothing wakes it, after a suspend for example. 30 s by
  /// default.
  public var pollInterval: Duration

  /// Only mutations of this lane are sent; nil, the default: those of any lane, and those without
  /// one.
  public var lane: String?

  /// How many attempts it makes at most, over all of its runs; each run ends once they are used up.
  /// Nil, the default: no limit.
  public var maximumAttempts: Int?

  /// The time over which a host's mutations are spread when the network is back and more wait than may
  /// run at a time.
  package var spread: Duration

  /// The source of time and waits.
  package var clock: ReplayClock

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - maximumConcurrency: How many mutations are sent at a time; less than 1 counts as 1.
  ///   - maximumPerHost: How many of those may go to one host; less than 1 counts as 1.
  ///   - pollInterval: How often it looks at the outbox if nothing wakes it; less than 1 s counts
  ///     as 1 s.
  ///   - lane: The only lane whose mutations are sent; nil: all mutations are.
  ///   - maximumAttempts: How many attempts it makes at most, over all of its runs; less than 0 counts
  ///     as 0, nil: no limit.
  ///   - clock: What its waits go by in a test; nil: the clock of the system.
  public init(
    maximumConcurrency: Int = 4,
    maximumPerHost: Int = 2,
    pollInterval: Duration = .seconds(30),
    lane: String? = nil,
    maximumAttempts: Int? = nil,
    clock: MockQueryClock? = nil
  ) {
    self.maximumConcurrency = maximumConcurrency
    self.maximumPerHost = maximumPerHost
    self.pollInterval = pollInterval
    self.lane = lane
    self.maximumAttempts = maximumAttempts
    self.spread = .seconds(2)
    self.clock = clock.map { ReplayClock($0) } ?? .system
  }

  /// The configuration with its numbers brought into range.
  var inBounds: Self {
    var configuration = self
    configuration.maximumConcurrency = max(1, self.maximumConcurrency)
    configuration.maximumPerHost = max(1, self.maximumPerHost)
    configuration.pollInterval = max(.seconds(1), self.pollInterval)
    configuration.maximumAttempts = self.maximumAttempts.map { max(0, $0) }
    return configuration
  }
}
