import Testing

@testable import torture

/// The account notices what must not be: each test takes logs that are well, and spoils one thing.
@Suite struct AccountTests {
  private static func mutation(_ number: Int, lane: String = "a") -> SentMutation {
    SentMutation(lane: lane, writer: "1", number: number)
  }

  private static func attempt(_ number: Int, _ began: Moment, _ ended: Moment?) -> Attempt {
    Attempt(
      process: "1.1", key: "key\(number)", mutation: self.mutation(number), began: began,
      ended: ended)
  }

  /// Three mutations, two of them sent and one live, and a value.
  private static let sound: Account = {
    var account = Account(lease: .seconds(60))
    for number in 1...3 {
      account.acknowledged.mutations[AccountTests.mutation(number)] = .some("key\(number)")
    }
    account.acknowledged.values = ["v": 7]
    account.attempts = [AccountTests.attempt(1, 10, 20), AccountTests.attempt(2, 30, 40)]
    account.found.rows = [
      FoundState.Row(
        mutation: AccountTests.mutation(3), key: "key3", standing: "pending", isDead: false)
    ]
    account.found.values = ["v": 7]
    account.found.isWhole = true
    return account
  }()

  private static func expectBreach(
    _ beginning: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ spoil: (inout Account) -> Void
  ) {
    var account = self.sound
    spoil(&account)
    let breaches = account.breaches()
    #expect(breaches.count == 1, sourceLocation: sourceLocation)
    #expect(breaches.first?.hasPrefix(beginning) == true, sourceLocation: sourceLocation)
  }

  @Test func soundLogsHaveNoBreach() { #expect(Self.sound.breaches().isEmpty) }

  @Test func aMutationThatIsNowhereIsLost() {
    Self.expectBreach("lost: a 1/3") { $0.found.rows = [] }
    Self.expectBreach("lost: a 1/1") { $0.attempts.removeFirst() }
  }

  @Test func whatIsLiveAfterAllWasSentIsStuck() {
    Self.expectBreach("stuck: a 1/3 is pending") { $0.isDrained = true }
  }

  @Test func lanesThatAreOutOfOrderAreNoticed() {
    Self.expectBreach("order: a 1/1 was first sent after number 2") { account in
      account.attempts = [Self.attempt(2, 10, 20), Self.attempt(1, 30, 40)]
    }
  }

  @Test func aSecondSendingUnderTheSameKeyIsNoBreach() {
    var account = Self.sound
    account.attempts.append(Self.attempt(1, 50, 60))
    #expect(account.breaches().isEmpty)
  }

  @Test func aSecondKeyIsNoticed() {
    Self.expectBreach("twice: a 1/2 goes by the keys key2, other") { account in
      account.attempts.append(Self.attempt(2, 50, 60))
      account.attempts[2].key = "other"
    }
    Self.expectBreach("the key key2 stands for") { account in
      let other = Self.mutation(4, lane: "b")
      account.attempts.append(
        Attempt(process: "1.1", key: "key2", mutation: other, began: 50, ended: 60))
    }
  }

  @Test func aSecondRowIsNoticed() {
    Self.expectBreach("twice: a 1/3 has 2 rows") { $0.found.rows.append($0.found.rows[0]) }
  }

  @Test func twoAttemptsAtATimeAreNoticedUnlessALeaseMayHaveEnded() {
    Self.expectBreach("at one time: a 1/2 by 1.1") { $0.attempts[0].ended = 35 }
    Self.expectBreach("at one time: a 1/2 by 1.1") { $0.attempts[0].ended = nil }
    var account = Self.sound
    account.attempts[0].ended = nil
    account.disturbances.ends = ["1.1": 25]
    #expect(account.breaches().isEmpty)
    account.disturbances.ends = [:]
    account.disturbances.stops = [.init(from: 20, to: 20 + .seconds(31))]
    #expect(account.breaches().isEmpty)
    account.disturbances.stops = [.init(from: 20, to: 20 + .seconds(29))]
    #expect(account.breaches().count == 1)
  }

  @Test func anAttemptThatOutlastsTheNextOneIsNoticedByTheOneAfter() {
    var account = Self.sound
    account.attempts = [
      Self.attempt(1, 10, 100), Self.attempt(2, 30, 40), Self.attempt(3, 50, 60),
    ]
    account.found.rows = []
    #expect(account.breaches().count == 2)
  }

  @Test func anOlderValueAndAMissingOneAreNoticed() {
    Self.expectBreach("value v of version 7 was flushed, and is there in version 6") {
      $0.found.values = ["v": 6]
    }
    Self.expectBreach("value v of version 7 was flushed, and is not there") {
      $0.found.values = [:]
    }
    var account = Self.sound
    account.found.values = ["v": 8]
    #expect(account.breaches().isEmpty)
  }

  @Test func whatIsDeadNeedsAReasonOfTheBench() {
    func die(_ number: Int, _ reason: String) -> (inout Account) -> Void {
      { account in
        account.found.rows.append(
          FoundState.Row(
            mutation: Self.mutation(number), key: "key\(number)", standing: reason, isDead: true))
      }
    }
    Self.expectBreach("dead: a 1/88 for no reason", die(88, "undecodable"))
    Self.expectBreach("dead: a 1/87 for no reason", die(87, "rejected"))
    Self.expectBreach("dead: a 1/87 for no reason", die(87, "crashLoop"))
    var account = Self.sound
    account.disturbances.kills = 5
    die(87, "crashLoop")(&account)
    die(88, "rejected")(&account)
    #expect(account.breaches().isEmpty)
  }

  @Test func damageAndAnUnfinishedAuditAreNoticed() {
    Self.expectBreach("cache.sqlite: page 3") { $0.found.damage = ["cache.sqlite: page 3"] }
    // What it has not come to is not lost for that.
    Self.expectBreach("the audit failed") { account in
      (account.found.isWhole, account.found.rows, account.found.values) = (false, [], [:])
    }
  }

  @Test func aLockedDatabaseIsExcusedByALongStopAloneAndAFullDiskByAFullDisk() {
    func complain(_ code: Int) -> (inout Account) -> Void {
      {
        $0.acknowledged.complaints = [
          .init(moment: .seconds(100), code: code, process: "1.1", text: "commit")
        ]
      }
    }
    Self.expectBreach("told 1 times, first to 1.1 at 100000000, code 5: commit", complain(5))
    Self.expectBreach("told 1 times, first to 1.1 at 100000000, code 13", complain(13))
    Self.expectBreach("told 1 times, first to 1.1 at 100000000, code 11", complain(11))
    var account = Self.sound
    account.disturbances.stops = [.init(from: .seconds(95), to: .seconds(99))]
    account.disturbances.fullDisks = [.init(from: .seconds(95), to: .seconds(99))]
    for code in [5, 13, 10] {
      complain(code)(&account)
      #expect(account.breaches().isEmpty)
    }
    account.disturbances.stops = [.init(from: .seconds(98), to: .seconds(99))]
    complain(5)(&account)
    #expect(account.breaches().count == 1)
  }
}
