import TestSupport
import Testing

@testable import Query

@Suite struct LockedTests {
  private final class Token: Sendable {}

  @Test func releasesItsValueOnceWithTheLastCopy() {
    weak var token: Token?
    do {
      let locked: Locked<(Token, String)>
      do {
        let made = Token()
        token = made
        locked = Locked((made, "a text that is too long to be kept in place"))
      }
      let copy = locked
      #expect(copy.withLock { $0.1 }.count == 43)
      #expect(token != nil)
    }
    #expect(token == nil)
  }

  @Test func releasesWhatIsReplaced() {
    weak var old: Token?
    let locked: Locked<Token?>
    do {
      let made = Token()
      old = made
      locked = Locked(made)
    }
    #expect(old != nil)
    locked.withLock { $0 = nil }
    #expect(old == nil)
  }

  @Test func keepsValuesOfAnySize() {
    Locked(()).withLock { $0 = () }
    let byte = Locked(UInt8(7))
    byte.withLock { $0 += 1 }
    #expect(byte.withLock { $0 } == 8)
    let wide = Locked((true, SIMD2<UInt64>(1, 2), SIMD2<UInt64>(3, 4), true))
    wide.withLock { $0.2 &+= $0.1 }
    #expect(wide.withLock { $0.2 } == SIMD2(4, 6))
  }

  @Test func isLockedWhileAnErrorIsThrown() {
    struct Failure: Error {}
    let locked = Locked(0)
    #expect(throws: Failure.self) {
      try locked.withLock { value in
        value = 1
        throw Failure()
      }
    }
    #expect(locked.withLock { $0 } == 1)
  }

  @Test func letsOneThreadInAtATime() async {
    let locked = Locked([Int]())
    await runOnThreads(4) { thread in
      for _ in 0..<1_000 { locked.withLock { $0.append(thread) } }
    }
    #expect(locked.withLock { $0.count } == 4_000)
  }
}
