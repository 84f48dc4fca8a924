import Foundation
import Query

// MARK: - Setting aside

extension OpeningFailure {
  /// Whether the outbox must be replaced. One of a newer release, or of altered migrations, is
  /// kept.
  var isDamage: Bool {
    switch self.kind {
    case .corrupt: true
    case .newer, .altered, .refused, .blank: false
    case .unavailable: self.error.isOutboxDamage
    }
  }
}

extension OutboxWriter {
  /// Finishes the replacement of a file by a process that was killed.
  func finishSettingAside() throws {
    let files = self.file.setAside
    guard try files.isPending || self.salvage.isPending else { return }
    try self.file.withExclusiveLock { lock in
      try files.finish(holding: lock)
      do {
        self.tell(try self.salvage.finish(with: self.opener), of: Self.leftByOthers)
      } catch {
        // The new file, which was to get the rows, is damaged by now, too.
        let failure = Self.storageError(error)
        guard failure.isOutboxDamage else { throw error }
        try self.setAside(failure, lock)
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
    try self.file.asFirst { lock in
      if let error = try LogCheck.damage(
        of: self.opener.path, isEmpty: isEmpty, self.opener.migrations)
      {
        try self.setAside(error, lock)
      }
    }
  }

  /// Replaces a file that was in use and has no byte any more: a new one in its place would claim
  /// that there never was a mutation.
  func setAsideEmptied() throws {
    guard self.opener.fileSize == 0, self.wasInUse else { return }
    // If another process has it open, that one is creating it.
    try self.file.asFirst { lock in
      if self.opener.fileSize == 0 { try self.setAside(Self.emptied, lock) }
    }
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

  private var salvage: OutboxSalvage { OutboxSalvage(folder: self.opener.folder, now: self.now) }

  func setAside(_ error: StorageError, _ lock: FileLock) throws {
    let files = self.file.setAside
    let name = try files.freeName(for: .corrupt)
    // From here on a killed process leaves a note of what to salvage.
    try self.salvage.begin(name)
    try files.run(.corrupt, as: name, holding: lock)
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
