import Foundation
import Query

// MARK: - Setting aside

extension OpeningFailure {
  /// Whether the outbox must be replaced. One of a newer release, or of altered migrations, is
  /// kept.
  fileprivate var isDamage: Bool {
    switch self.kind {
    case .corrupt: true
    case .newer, .altered, .refused, .blank: false
    case .unavailable: self.error.isOutboxDamage
    }
  }
}

extension OutboxWriter {
  /// Opens the file; if it is damaged, sets it aside and salvages the readable rows into a new one.
  func openOrReplace() throws -> SQLiteConnection {
    do {
      return try self.opener.openWriter()
    } catch {
      guard error.isDamage else { throw error }
      try self.replace(error.error)
    }
    return try self.opener.openWriter()
  }

  /// Replaces a file that cannot be opened, if no other process uses it.
  private func replace(_ damage: StorageError) throws {
    try self.withExclusiveLock(toReplace: damage) {
      // Another process may have replaced it before this one got the lock.
      do {
        try self.opener.openWriter().close()
      } catch let failure as OpeningFailure {
        guard failure.isDamage else { throw failure }
        try self.setAside(failure.error)
      }
    }
  }

  /// Finishes the replacement of a file by a process that was killed.
  func finishSettingAside() throws {
    let files = SetAside(kind: .mutations, folder: self.opener.folder)
    guard try files.isPending || self.salvage.isPending else { return }
    try self.withExclusiveLock {
      try files.finish(holding: self.fileLock)
      do {
        self.tell(try self.salvage.finish(with: self.opener), of: Self.leftByOthers)
      } catch {
        // The new file, which was to get the rows, is damaged by now, too.
        let failure = Self.storageError(error)
        guard failure.isOutboxDamage else { throw error }
        try self.setAside(failure)
      }
    }
  }

  private static let leftByOthers = StorageError(
    operation: "open", code: .corrupt,
    message: "the file was damaged, and a process that was killed had set it aside",
    fileName: DatabaseKind.mutations.fileName)

  /// Replaces the file if SQLite would cut its WAL short at a damaged frame: SQLite does not report
  /// the commits behind that.
  ///
  /// A killed process leaves a WAL; a process that closes the file invalidates or removes it. Only
  /// the first process to open the file can check it, and the others come after that.
  func setAsideDamagedLog() throws {
    let log = "\(self.opener.path)-wal"
    guard let size = self.opener.files.size(of: log), size > 0 else { return }
    let isEmpty = self.opener.files.size(of: self.opener.path) == 0
    guard try isEmpty || LogCheck.mayHaveFrames(log) else { return }
    // If other processes have it open, one of them has checked.
    let isAlone = try self.fileLock.ifAlone {
      if let error = try LogCheck.damage(
        of: self.opener.path, isEmpty: isEmpty, self.opener.migrations)
      {
        try self.setAside(error)
      }
    }
    if !isAlone { try self.fileLock.lockShared(patience: self.opener.patience) }
  }

  /// Replaces a file that was in use and has no byte any more: a new one in its place would claim
  /// that there never was a mutation.
  func setAsideEmptied() throws {
    guard self.opener.fileSize == 0, self.wasInUse else { return }
    // If other processes have it open, one of them is creating it.
    let isAlone = try self.fileLock.ifAlone {
      if self.opener.fileSize == 0 { try self.setAside(Self.emptied) }
    }
    if !isAlone { try self.fileLock.lockShared(patience: self.opener.patience) }
  }

  /// Whether something was committed in this folder: the files beside the database are made after
  /// that.
  private var wasInUse: Bool {
    let folder = self.opener.folder
    let kick = ChangeKick.path(kind: .mutations, folder: folder)
    return FileNumber(path: kick) != nil
      || ["owners", "bodies"].contains { FileNumber(path: "\(folder)/\($0)") != nil }
  }

  private static let emptied = StorageError(
    operation: "open", code: .corrupt,
    message: "the file is empty, and mutations were committed to it",
    fileName: DatabaseKind.mutations.fileName)

  /// Replaces the file that a read or a write has found damaged.
  func setAsideDamaged() throws {
    guard let damaged = self.damaged else { return }
    if self.fileAtPath == damaged.file, try self.confirms(damaged.error, in: damaged.file) {
      try self.withExclusiveLock(toReplace: damaged.error) {
        if self.fileAtPath == damaged.file { try self.setAside(damaged.error) }
      }
    }
    self.damaged = nil
  }

  /// Whether a file is damaged, confirmed by a second check. If one that was reported proves sound,
  /// the next report is believed.
  private func confirms(_ error: StorageError, in file: FileNumber) throws -> Bool {
    if !error.code.isOfPages || self.suspected == file { return true }
    let isDamaged = try self.opener.findsDamage()
    self.suspected = file
    return isDamaged
  }

  private var salvage: OutboxSalvage { OutboxSalvage(folder: self.opener.folder, now: self.now) }

  /// Runs a closure while no process has the file open, this one included.
  private func withExclusiveLock(
    toReplace damage: StorageError? = nil, _ body: () throws -> Void
  ) throws {
    guard try self.fileLock.ifAlone(body) else {
      throw StorageError.damagedAndInUse(.mutations, damage)
    }
  }

  private func setAside(_ error: StorageError) throws {
    let files = SetAside(kind: .mutations, folder: self.opener.folder)
    let name = try files.freeName(for: .corrupt)
    // From here on a killed process leaves a note of what to salvage.
    try self.salvage.begin(name)
    try files.run(.corrupt, as: name, holding: self.fileLock)
    self.tell(try self.salvage.finish(with: self.opener), of: error)
  }

  private func tell(_ salvaged: [(name: String, report: SalvageReport)], of error: StorageError) {
    for (name, report) in salvaged {
      let reason = StorageError(
        operation: error.operation, code: error.extendedCode,
        message: "\(error.message); \(report.words)", sql: error.sql, fileName: error.fileName)
      for partition in self.database.partitions {
        partition.hooks?.tell(.setAside(fileName: name, reason: reason))
      }
    }
  }
}
