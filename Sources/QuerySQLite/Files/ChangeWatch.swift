import FoundationEssentials
import Glibc

/// Reports that another process has committed something, or has moved the database away.
///
/// ```swift
/// guard let watch = ChangeWatch(kind: .cache, folder: folder) else { … }  // poll data_version
/// // poll(2) on watch.descriptor until it is readable, then:
/// if watch.drain().contains(.kicked) { … }  // ask for what has changed
/// ```
/// It is one inotify descriptor with two watches: `cache.kick` for writes and for the end of a process that
/// could write it, and the folder for files that are made, removed or renamed in it. The folder alone would
/// do, but would report each write to the WAL, and so wake the owner several times per commit.
///
/// As long as it watches, it holds a shared lock on `cache.kick`, by which other processes see that a
/// kick has a reader: see ``hasOthers``.
///
/// Used by the thread that waits for it, and by no other.
package final class ChangeWatch {
  /// What has happened. A process that has died, or has closed the file, may have committed before.
  package struct Changes: OptionSet, Hashable, Sendable {
    package let rawValue: Int

    /// Some process has committed; it may have been this one.
    static let kicked = Self(rawValue: 1)
    /// `cache.kick` was made anew: processes that watch the new file were not notified of what was
    /// committed just before.
    static let kickMade = Self(rawValue: 8)
    /// A database was made, removed, or renamed at this path: check `SQLiteConnection.hasMoved`.
    static let databaseMoved = Self(rawValue: 2)
    /// The folder was removed or renamed: no further events will come, and a new watch is needed.
    package static let ended = Self(rawValue: 4)

    package init(rawValue: Int) { self.rawValue = rawValue }
  }

  /// Becomes readable when something has happened.
  package let descriptor: Int32

  private let kickPath: String
  private let databaseName: String
  private let folderWatch: Int32
  private var kickWatch: Int32 = -1

  /// `cache.kick`, on which the lock is.
  private var kick: Int32 = -1

  /// Starts to watch.
  ///
  /// - Parameters:
  ///   - kind: Which database.
  ///   - folder: The absolute path of its folder, which must exist.
  /// - Returns: nil if the system has no watch left, or if something in the place of `cache.kick`
  ///   is not a file that kicks are written to.
  package init?(kind: DatabaseKind, folder: String) {
    self.kickPath = ChangeKick.path(kind: kind, folder: folder)
    self.databaseName = kind.fileName
    // The watch needs a file. If it cannot be made, the folder's watch tells when another process
    // makes it.
    self.kick = Self.lockKick(self.kickPath)
    if self.kick < 0, RegularFile.fault(at: self.kickPath, isWritten: true) != nil { return nil }
    self.descriptor = inotify_init1(Self.inNonblock | Self.inCloexec)
    guard self.descriptor >= 0 else {
      if self.kick >= 0 { close(self.kick) }
      return nil
    }
    let mask =
      Self.inCreate | Self.inDelete | Self.inMovedFrom | Self.inMovedTo | Self.inDeleteSelf
      | Self.inMoveSelf | Self.inOnlyDirectory
    self.folderWatch = inotify_add_watch(self.descriptor, folder, mask)
    // From here on `deinit` closes what is open, of an initialisation that fails, too.
    guard self.folderWatch >= 0 else { return nil }
    self.watchKick()
    // No watch may be left, since each user has a limited number: the folder's alone is not enough.
    if self.kickWatch < 0 && errno == ENOSPC { return nil }
  }

  deinit {
    for descriptor in [self.descriptor, self.kick] where descriptor >= 0 { close(descriptor) }
  }

  /// Goes on with the file that is at the path now.
  private func followKick() {
    self.closeKick()
    self.kick = Self.lockKick(self.kickPath)
    self.watchKick()
  }

  private func closeKick() {
    if self.kick >= 0 { close(self.kick) }
    self.kick = -1
  }

  /// Watches the file that is at the path now.
  private func watchKick() {
    let old = self.kickWatch
    self.kickWatch = inotify_add_watch(
      self.descriptor, self.kickPath, Self.inModify | Self.inCloseWrite | Self.inDontFollow)
    let number = errno
    if old >= 0 && old != self.kickWatch { _ = inotify_rm_watch(self.descriptor, old) }
    errno = number
  }
}

// MARK: - Who watches

extension ChangeWatch {
  /// Whether another process, or another watch of this one, watches too, as far as ``drain()`` has
  /// told. If not, a kick would only wake its own sender.
  package var hasOthers: Bool { PresenceLock.isHeldByOthers(self.kick) }

  /// Opens the kick file, made if it is missing, and holds the lock that ``hasOthers`` of other
  /// watches sees. The system releases it when the descriptor is closed.
  ///
  /// - Returns: The descriptor, or -1.
  private static func lockKick(_ path: String) -> Int32 {
    // Bytes: the kick file, which is made and not written.
    let file =
      (try? RegularFile.open(path, O_RDWR | O_CREAT, operation: "watch"))
      ?? (try? RegularFile.open(path, O_RDONLY, operation: "watch"))
    guard let file else { return -1 }
    if PresenceLock.take(file) { return file }
    close(file)
    return -1
  }
}

// MARK: - Reading

extension ChangeWatch {
  /// Reads everything that has happened since the last call. Never waits.
  package func drain() -> Changes {
    var changes = Changes()
    withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
      while true {
        let count = read(self.descriptor, buffer.baseAddress, buffer.count)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return }
        Self.forEachEvent(in: UnsafeRawBufferPointer(rebasing: buffer[..<count])) { event in
          changes.formUnion(self.changes(of: event))
        }
      }
    }
    return changes
  }

  /// The meaning of an event. If another file is at the watched path now, watches that one.
  func changes(of event: Event) -> Changes {
    // Events were dropped: any may be among them.
    if event.mask & Self.inOverflow != 0 {
      self.followKick()
      return [.kicked, .kickMade, .databaseMoved]
    }
    if event.watch == self.kickWatch {
      return event.mask & (Self.inModify | Self.inCloseWrite) != 0 ? .kicked : []
    }
    guard event.watch == self.folderWatch else { return [] }
    if event.mask & (Self.inDeleteSelf | Self.inMoveSelf | Self.inIgnored) != 0 { return .ended }
    if event.name == self.databaseName || event.name == self.databaseName + "-wal" {
      return .databaseMoved
    }
    guard event.name == FilePath.name(of: self.kickPath) else { return [] }
    guard event.mask & (Self.inCreate | Self.inMovedTo) != 0 else {
      // An open file would keep a folder that was removed.
      self.closeKick()
      return []
    }
    // It may have been written to before the watch was added.
    self.followKick()
    return [.kicked, .kickMade]
  }
}

// MARK: - inotify(7)

extension ChangeWatch {
  /// A `struct inotify_event` with the name behind it.
  struct Event: Equatable {
    let watch: Int32
    let mask: UInt32
    let name: String
  }

  // The constants of <sys/inotify.h>, in the types of the functions that take them.
  static let inModify: UInt32 = 0x2
  static let inCloseWrite: UInt32 = 0x8
  static let inMovedFrom: UInt32 = 0x40
  static let inMovedTo: UInt32 = 0x80
  static let inCreate: UInt32 = 0x100
  static let inDelete: UInt32 = 0x200
  static let inDeleteSelf: UInt32 = 0x400
  static let inMoveSelf: UInt32 = 0x800
  static let inOverflow: UInt32 = 0x4000
  static let inIgnored: UInt32 = 0x8000
  static let inOnlyDirectory: UInt32 = 0x0100_0000
  static let inDontFollow: UInt32 = 0x0200_0000
  static let inNonblock: Int32 = 0x800
  static let inCloexec: Int32 = 0x80000

  /// Calls a closure with each event in the bytes read. Parsed by hand, since Swift's form of the
  /// struct has no place for the name: watch, mask, cookie and the name's length, of 4 bytes each,
  /// and the name, padded with zeros.
  static func forEachEvent(in bytes: UnsafeRawBufferPointer, _ body: (Event) -> Void) {
    var start = 0
    while start + 16 <= bytes.count {
      let length = Int(bytes.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
      guard start + 16 + length <= bytes.count else { return }
      let name = bytes[(start + 16)..<(start + 16 + length)].prefix { $0 != 0 }
      body(
        Event(
          watch: bytes.loadUnaligned(fromByteOffset: start, as: Int32.self),
          mask: bytes.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self),
          name: String(decoding: name, as: UTF8.self)))
      start += 16 + length
    }
  }
}
