import Foundation
import Query

// MARK: - Failing

extension OutboxWriter {
  /// Says that nothing can be written for the time being, and when it is tried again.
  func degrade(_ error: StorageError) {
    let now = SuspendingClock.now
    if self.retry.map({ $0.at <= now }) ?? true {
      let delay = min(
        self.retry.map { $0.delay * 2 } ?? self.configuration.retryDelay, .seconds(30))
      self.retry = (now + delay, delay)
    }
    if self.database.degradation == nil {
      for partition in self.database.partitions { partition.hooks?.tell(.degraded(error)) }
    }
    self.database.degradation = error
  }

  /// Says that a write has worked.
  func didWork() {
    self.retry = nil
    guard self.database.degradation != nil else { return }
    self.database.degradation = nil
    for partition in self.database.partitions { partition.hooks?.tell(.recovered) }
  }

  /// Takes note of a failure: a damaged file is replaced, all else is tried again later.
  func didFail(_ error: any Error) {
    let failure = Self.storageError(error)
    if failure.isOutboxDamage, self.connection != nil {
      self.didFindDamage(failure)
      if self.connection != nil { return }
    }
    self.degrade(failure)
  }

  /// Tries again what failed, by writing what is there already.
  func recover() {
    do {
      let connection = try self.usableConnection()
      try connection.write { try connection.execute(Self.probe) }
      self.didWork()
    } catch {
      self.didFail(error)
    }
  }

  static let probe: SQL = "UPDATE clock SET boot_id = boot_id WHERE id = 1"

  /// Makes sure that the file at the path is the one that is open.
  func reopenWhereMoved() {
    do {
      _ = try self.usableConnection()
    } catch {
      self.didFail(error)
    }
  }

  /// Takes note that the file is damaged, and replaces it.
  func didFindDamage(_ error: StorageError) {
    guard self.connection != nil, let file = self.fileAtPath else { return }
    self.damaged = (file, error)
    self.letGoOfFile()
    do {
      try self.open()
    } catch {
      self.degrade(Self.storageError(error))
    }
  }
}

extension StorageError {
  /// Whether the outbox is damaged, or no database. Not a constraint: that is a mistake of ours, and
  /// what is precious stays where it is.
  var isOutboxDamage: Bool {
    switch self.code {
    case .corrupt, .notADatabase, .mismatch: true
    case .error: self.operation == "prepare"
    default: false
    }
  }
}
