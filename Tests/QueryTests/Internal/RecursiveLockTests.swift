import Foundation
import Testing

@testable import Query

@Suite struct RecursiveLockTests {
  @Test func itsHolderMayTakeItAgain() {
    let lock = RecursiveLock()
    defer { lock.destroy() }
    lock.lock()
    lock.lock()
    #expect(lock.tryLock())
    lock.unlock()
    lock.unlock()
    lock.unlock()
  }

  @Test func anotherThreadGetsItOnlyWhenEveryTakingWasUndone() async {
    let lock = RecursiveLock()
    defer { lock.destroy() }
    lock.lock()
    lock.lock()
    #expect(Self.isFreeForAnotherThread(lock) == false)
    lock.unlock()
    #expect(Self.isFreeForAnotherThread(lock) == false)
    lock.unlock()
    #expect(Self.isFreeForAnotherThread(lock))
  }

  @Test func noIncrementOfManyThreadsIsLost() {
    let lock = RecursiveLock()
    defer { lock.destroy() }
    // Guarded by the lock.
    nonisolated(unsafe) var count = 0
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<1_000 {
        lock.lock()
        lock.lock()
        count += 1
        lock.unlock()
        lock.unlock()
      }
    }
    #expect(count == 8_000)
  }

  private static func isFreeForAnotherThread(_ lock: RecursiveLock) -> Bool {
    // Written by the other thread before the semaphore is signalled, read after.
    nonisolated(unsafe) var isFree = false
    let isDone = DispatchSemaphore(value: 0)
    Thread {
      isFree = lock.tryLock()
      if isFree { lock.unlock() }
      isDone.signal()
    }.start()
    isDone.wait()
    return isFree
  }
}
