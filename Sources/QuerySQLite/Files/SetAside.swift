import FoundationEssentials
import Glibc
package import Query

/// Renames a database that cannot be used, so that a new one can take its place: `cache.sqlite`
/// becomes `cache.sqlite.corrupt-20260131T120000Z`, and its WAL goes with it.
///
/// ```swift
/// let setAside = SetAside(kind: .cache, folder: folder)
/// // closed all connections, got the lock, found it corrupt again
/// let name = try setAside.run(.corrupt, holding: lock)
/// ```
/// No connection may be open, in any process: a commit would go to the file that was set aside, or
/// a process that has not read the old WAL yet would ruin the new file's. That is what the lock is
/// for. The files are linked, renamed and deleted, never opened.
///
/// A process may be killed between any two of the steps. A process that opens the database reads
/// ``isPending`` first, under the shared lock; then ``finish(holding:)`` does the remaining steps.
package struct SetAside: Sendable {
  /// Why a database cannot be used.
  enum Reason: Hashable, Sendable {
    /// It is damaged, or not a database.
    case corrupt
    /// A newer release has made it, at this level. It is kept for good.
    case newer(level: Int)
  }

  /// Which database.
  let kind: DatabaseKind

  /// The absolute path of its folder.
  let folder: String

  /// How many damaged databases are kept.
  var maximumCorrupt = 2

  /// The time, for the name.
  var now: @Sendable () -> Date = { Date() }

  /// `link(2)`: 0, or `errno`. A value, since file systems without hard links are rare.
  var link: @Sendable (_ old: String, _ new: String) -> Int32 = {
    // Bytes: none change, and under the exclusive lock no process has the file open.
    Glibc.link($0, $1) == 0 ? 0 : errno
  }

  package init(kind: DatabaseKind, folder: String) {
    self.kind = kind
    self.folder = folder
  }

  /// The files that belong to a database that no connection has open. The next connection makes the
  /// shm anew.
  static let companions = ["-wal", "-journal"]
}

// MARK: - Setting aside

extension SetAside {
  /// Sets the database aside, and deletes the oldest damaged ones beyond the limit. If a process
  /// was killed while it did so, finishes that instead.
  ///
  /// Check again what is wrong with the database once the lock is held: another process may have
  /// replaced it before.
  ///
  /// - Parameters:
  ///   - reason: Why it cannot be used.
  ///   - name: The new name; nil for one made from the time.
  ///   - lock: The database's lock, held exclusively.
  /// - Returns: The new name of the file; nil if there was no file.
  /// - Throws: `StorageError`; the next call does the remaining steps.
  @discardableResult
  func run(
    _ reason: Reason, as newName: Name? = nil, holding lock: FileLock
  ) throws(StorageError) -> String? {
    let finished = try self.finish(holding: lock)
    guard self.fileNumber(of: self.databasePath) != nil else { return finished }
    let name: Name
    if let newName { name = newName } else { name = try self.freeName(for: reason) }
    try self.perform(self.linkingSteps(to: name), otherwise: name)
    try self.deleteOldest(keeping: name)
    return name.fileName(of: self.kind)
  }

  /// Whether a process was killed while it set the database aside. Read under the shared lock,
  /// before a connection is opened.
  ///
  /// - Throws: `StorageError` if the folder cannot be read.
  package var isPending: Bool {
    get throws(StorageError) { try self.pending() != nil }
  }

  /// Does the remaining steps of a killed process.
  ///
  /// - Parameter lock: The database's lock, held exclusively.
  /// - Returns: The name of the file that it set aside; nil if nothing remained to do.
  /// - Throws: `StorageError`.
  @discardableResult
  func finish(holding lock: FileLock) throws(StorageError) -> String? {
    precondition(lock.mode == .exclusive, "a database is set aside under its lock, exclusively")
    guard let (name, isRenamed) = try self.pending() else { return nil }
    try self.perform(isRenamed ? self.renamingSteps(to: name) : self.linkingSteps(to: name))
    try self.deleteOldest(keeping: name)
    return name.fileName(of: self.kind)
  }

  /// The name that a killed process was about to give, and whether by renaming.
  private func pending() throws(StorageError) -> (name: Name, isRenamed: Bool)? {
    let names = try self.names()
    let number = self.fileNumber(of: self.databasePath)
    for name in names.sorted() {
      let path = self.path(of: name)
      for companion in Self.companions
      where self.fileNumber(of: "\(path)\(companion)\(Name.part)") != nil {
        return (name, true)
      }
      // Until the old name is unlinked, the file has both names.
      if let number, self.fileNumber(of: path) == number { return (name, false) }
    }
    return nil
  }
}

// MARK: - Steps

extension SetAside {
  /// The remaining steps to rename the database. Every file has its new name before the first loses
  /// its old one, and the WAL loses it before the database: at any time the old names stand for the
  /// database, or the database without its WAL, or nothing.
  func linkingSteps(to name: Name) -> [Step] {
    let new = self.path(of: name)
    var steps = [Step]()
    if self.fileNumber(of: new) == nil { steps.append(.link(self.databasePath, new)) }
    for companion in Self.companions {
      let number = self.fileNumber(of: self.databasePath + companion)
      let linked = self.fileNumber(of: new + companion)
      guard number != nil, number != linked else { continue }
      // A companion of the same database, from before it was used again.
      if linked != nil { steps.append(.unlink(new + companion)) }
      steps.append(.link(self.databasePath + companion, new + companion))
    }
    steps.append(.synchronise)
    for suffix in Self.companions + ["-shm", ""] {
      let path = self.databasePath + suffix
      if self.fileNumber(of: path) != nil { steps.append(.unlink(path)) }
    }
    steps.append(.synchronise)
    return steps
  }

  /// The same on file systems without hard links. Between the renaming of the two files, the WAL
  /// has a name that says so.
  func renamingSteps(to name: Name) -> [Step] {
    let new = self.path(of: name)
    var steps = [Step]()
    var parts = Self.companions.filter { self.fileNumber(of: new + $0 + Name.part) != nil }
    if self.fileNumber(of: new) == nil {
      for companion in Self.companions
      where self.fileNumber(of: self.databasePath + companion) != nil {
        steps.append(.rename(self.databasePath + companion, new + companion + Name.part))
        if !parts.contains(companion) { parts.append(companion) }
      }
      let shm = "\(self.databasePath)-shm"
      if self.fileNumber(of: shm) != nil { steps.append(.unlink(shm)) }
      steps.append(.rename(self.databasePath, new))
    }
    for companion in parts {
      steps.append(.rename(new + companion + Name.part, new + companion))
    }
    steps.append(.synchronise)
    return steps
  }

  /// Does steps in their order.
  ///
  /// - name: The name to rename to if the first step finds that the file system has no hard links.
  private func perform(_ steps: [Step], otherwise name: Name? = nil) throws(StorageError) {
    for (index, step) in steps.enumerated() {
      let number = self.perform(step)
      if number == 0 { continue }
      // The errors of `link(2)` on a file system that has no links, or no more for this file.
      let cannotLink = [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(number)
      if let name, index == 0, cannotLink { return try self.perform(self.renamingSteps(to: name)) }
      throw StorageError(errno: number, operation: "set aside", path: self.databasePath)
    }
  }
}

// MARK: - Files

extension SetAside {
  /// The path of the database.
  var databasePath: String { "\(self.folder)/\(self.kind.fileName)" }

  /// The path of a WAL that was set aside, which had taken the place of the one in use.
  var replacedLogPath: String { self.databasePath + "-wal.replaced" }

  /// The path of a database that was set aside.
  func path(of name: Name) -> String { "\(self.folder)/\(name.fileName(of: self.kind))" }

  /// The number of the file at a path; nil if there is none. A link counts as itself.
  private func fileNumber(of path: String) -> FileNumber? {
    FileNumber(path: path, followsLinks: false)
  }

  /// The names of all databases that were set aside, each once.
  package func names() throws(StorageError) -> Set<Name> {
    guard let directory = opendir(self.folder) else {
      if errno == ENOENT { return [] }
      throw StorageError(errno: errno, operation: "read the folder", path: self.folder)
    }
    defer { closedir(directory) }
    var names = Set<Name>()
    while let entry = readdir(directory) {
      let fileName = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if let name = Name(fileName: fileName, of: self.kind) { names.insert(name) }
    }
    return names
  }

  /// A name that no file has.
  func freeName(for reason: Reason) throws(StorageError) -> Name {
    let taken = try self.names()
    var name = Name(reason: reason, date: self.now())
    while taken.contains(name) { name.number += 1 }
    return name
  }
}

extension SetAside {
  /// One change to the folder, done entirely or not at all.
  enum Step: Hashable, Sendable {
    /// Gives a file a second name.
    case link(String, String)
    /// Renames a file, replacing any file that has the new name.
    case rename(String, String)
    /// Removes a name.
    case unlink(String)
    /// Waits until the changes are on disk, as far as the file system does that.
    case synchronise
  }

  /// Does a step.
  ///
  /// - Returns: 0, or `errno`.
  func perform(_ step: Step) -> Int32 {
    switch step {
    case .link(let old, let new): return self.link(old, new)
    // Bytes: none change, and under the exclusive lock no process has the file open.
    case .rename(let old, let new): return rename(old, new) == 0 ? 0 : errno
    case .unlink(let path): return unlink(path) == 0 || errno == ENOENT ? 0 : errno
    case .synchronise:
      DatabaseFiles().synchronise(folder: self.folder)
      return 0
    }
  }
}

extension SetAside {
  /// Deletes all databases that were set aside, even those that are kept for good, and a WAL: a user's data
  /// must be forgotten. The database itself stays.
  ///
  /// - Throws: `StorageError`, the first, after all were tried.
  func removeAll() throws(StorageError) {
    let number = self.perform(.unlink(self.replacedLogPath))
    try self.delete(self.names().sorted())
    if number != 0 {
      throw StorageError(errno: number, operation: "delete", path: self.replacedLogPath)
    }
  }

  /// Deletes the oldest damaged databases, so that with this one no more are left than the limit.
  ///
  /// Not those of the outbox: only the salvage knows whether all of one's content is saved.
  func deleteOldest(keeping kept: Name) throws(StorageError) {
    if self.kind == .mutations { return }
    // By name rather than by order: if the clock went back, the new one is not the newest.
    let others = try self.names().filter { $0.reason == .corrupt && $0 != kept }.sorted()
    let room = max(0, self.maximumCorrupt - (kept.reason == .corrupt ? 1 : 0))
    try self.delete(others.dropLast(room))
  }

  /// Deletes the oldest damaged databases that are expendable, so that no more of them are left
  /// than the limit.
  func deleteOldest(where isExpendable: (Name) -> Bool) throws(StorageError) {
    let names = try self.names().filter { $0.reason == .corrupt && isExpendable($0) }.sorted()
    try self.delete(names.dropLast(self.maximumCorrupt))
  }

  private func delete(_ names: some Collection<Name>) throws(StorageError) {
    var failure: Int32 = 0
    let suffixes = Self.companions.flatMap { [$0, $0 + Name.part] } + ["-shm"]
    for name in names {
      // The database first: a WAL alone cannot be mistaken for a whole database.
      for suffix in [""] + suffixes {
        let number = self.perform(.unlink(self.path(of: name) + suffix))
        if failure == 0 { failure = number }
      }
    }
    // Data that must be forgotten must not be back after a power cut.
    if !names.isEmpty { _ = self.perform(.synchronise) }
    if failure != 0 {
      throw StorageError(errno: failure, operation: "delete", path: self.databasePath)
    }
  }
}
