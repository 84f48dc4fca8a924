import Dispatch
package import FoundationEssentials
import Glibc

/// The folder of the files that go with mutations, beside an outbox.
///
/// A copy is locked (`flock`) from before it has a byte until the row that names it is committed: so
/// another process can tell one that is about to get a row from one whose process has died.
package struct BodyFolder: Sendable {
  /// The absolute path.
  package let path: String

  private let make: @Sendable () throws -> Void
  private let makeHash: @Sendable () -> any BodyHash

  /// - Parameters:
  ///   - path: The absolute path. The folder need not exist.
  ///   - make: Makes the folder, for this user alone, if there is none.
  ///   - makeHash: Makes the checksum of no bytes.
  package init(
    path: String,
    make: @escaping @Sendable () throws -> Void,
    makeHash: @escaping @Sendable () -> any BodyHash
  ) {
    self.path = path
    self.make = make
    self.makeHash = makeHash
  }

  /// Copies files into the folder, and returns when the copies are on the disk. A file system that can
  /// share the bytes of two files does so; otherwise each is read once, and no more of it than a buffer
  /// is in memory.
  ///
  /// - Parameter sources: Regular files.
  /// - Throws: ``MutationBodyError/notAFile(path:)``; ``StorageError``. No copy is left then.
  package func copy(_ sources: [URL]) async throws -> BodyCopies {
    try await Self.offThePool { try self.copyNow(sources.map(\.path)) }
  }

  /// The copies that a row names, after a check that they have not changed.
  ///
  /// - Parameter names: As ``BodyNames/joined(_:)`` returned them.
  /// - Throws: ``MutationBodyError/damaged(name:)``; ``StorageError``.
  package func check(_ names: String?) async throws -> [URL] {
    let names = BodyNames.split(names)
    if names.isEmpty { return [] }
    return try await Self.offThePool {
      try names.map { name in
        try self.check(name)
        return URL(filePath: "\(self.path)/\(name)", directoryHint: .notDirectory)
      }
    }
  }

  /// Removes a file, and nothing outside of the folder.
  package func remove(_ name: String) {
    guard BodyNames.isPlain(name), let folder = try? self.open() else { return }
    unlinkat(folder.number, name, 0)
  }

  /// Removes a file that no process is about to name.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - isNamed: Whether a row names it. Asked while no process can be about to.
  package func removeIfLeft(_ name: String, isNamed: () throws -> Bool) rethrows {
    guard BodyNames.isPlain(name), let folder = try? self.open() else { return }
    let file = BodyDescriptor(
      openat(folder.number, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK))
    var status = stat()
    guard let file, fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      self.isLeft(file, name), try !isNamed()
    else { return }
    unlinkat(folder.number, name, 0)
  }

  /// Whether no living process is about to name a file. On a file system without locks only the age of
  /// the file tells.
  private func isLeft(_ file: BodyDescriptor, _ name: String) -> Bool {
    if flock(file.number, LOCK_EX | LOCK_NB) == 0 { return true }
    if errno == EWOULDBLOCK || errno == EINTR { return false }
    let attributes = try? FileManager.default.attributesOfItem(atPath: "\(self.path)/\(name)")
    guard let modified = attributes?[.modificationDate] as? Date else { return false }
    return Date().timeIntervalSince(modified) > 3_600
  }

  /// The names of its files; none if there is no folder.
  package var names: [String] {
    guard (try? self.open()) != nil else { return [] }
    return (try? FileManager.default.contentsOfDirectory(atPath: self.path)) ?? []
  }

  // A link there would lead to files of somebody else.
  private func open() throws(StorageError) -> BodyDescriptor {
    let folder = BodyDescriptor(
      Glibc.open(self.path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW))
    guard let folder else { throw Self.lastError("open the folder") }
    return folder
  }

  /// Does work that waits for the disk, on a thread that no other task needs.
  private static func offThePool<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .userInitiated).async {
        continuation.resume(with: Result { try work() })
      }
    }
  }

  fileprivate static func lastError(_ operation: String) -> StorageError {
    StorageError(systemError: errno, operation: operation, fileName: "bodies")
  }
}

// MARK: - Copying

extension BodyFolder {
  private static let bufferSize = 256 << 10

  /// `FICLONE`: `_IOW(0x94, 9, int)`.
  private static let clone: UInt = 0x4004_9409

  private func copyNow(_ sources: [String]) throws -> BodyCopies {
    try self.make()
    let folder = try self.open()
    var copies = [BodyCopies.Copy]()
    do {
      for source in sources { copies.append(try self.copy(source, in: folder)) }
      // The names, too, are on the disk before a row has them.
      guard fsync(folder.number) == 0 else { throw Self.lastError("sync the folder") }
    } catch {
      for copy in copies { unlinkat(folder.number, copy.name, 0) }
      throw error
    }
    return BodyCopies(copies, in: self)
  }

  private func copy(_ source: String, in folder: BodyDescriptor) throws -> BodyCopies.Copy {
    // What this process may not read now is not the caller's to send.
    guard let (input, _) = try Self.openContent(source, orNil: [EACCES, EPERM]) else {
      throw MutationBodyError.notAFile(path: source)
    }
    let id = UUID.random()
    let output = try Self.makeLocked(id.uuidString, in: folder)
    do {
      let (byteCount, digits) = try self.fill(output, from: input)
      guard fsync(output.number) == 0 else { throw Self.lastError("sync the file") }
      let name = BodyName(id: id, byteCount: byteCount, digits: digits).text
      guard renameat(folder.number, id.uuidString, folder.number, name) == 0 else {
        throw Self.lastError("name the file")
      }
      return BodyCopies.Copy(name: name, lock: output)
    } catch {
      unlinkat(folder.number, id.uuidString, 0)
      throw error
    }
  }

  /// Makes an empty file that this process has locked.
  private static func makeLocked(
    _ name: String, in folder: BodyDescriptor
  ) throws(StorageError) -> BodyDescriptor {
    while true {
      let file = BodyDescriptor(
        openat(
          folder.number, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600))
      guard let file else { throw Self.lastError("make the file") }
      while flock(file.number, LOCK_EX) != 0 && errno == EINTR {}
      var status = stat()
      guard fstat(file.number, &status) == 0 else { throw Self.lastError("make the file") }
      // A process that cleaned up may have taken it before it was locked.
      if status.st_nlink > 0 { return file }
    }
  }

  /// - Returns: How many bytes there are, and their checksum.
  private func fill(
    _ output: BodyDescriptor, from input: BodyDescriptor
  ) throws -> (byteCount: Int, digits: String) {
    if ioctl(output.number, Self.clone, input.number) == 0 {
      return try self.read(output) { _ in }
    }
    return try self.read(input) { bytes in
      var rest = bytes
      while !rest.isEmpty {
        let count = write(output.number, rest.baseAddress, rest.count)
        if count >= 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        } else if errno != EINTR {
          throw Self.lastError("copy the file")
        }
      }
    }
  }

  /// Opens a file whose content is read.
  ///
  /// - Returns: The file and its length; nil if there is no file at this path, whenever it is opened, or if
  ///   the error is one of `codes`.
  /// - Throws: `StorageError` if it cannot be opened now, for want of descriptors, say.
  private static func openContent(
    _ path: String, _ flags: Int32 = 0, orNil codes: Set<Int32> = []
  ) throws(StorageError) -> (file: BodyDescriptor, byteCount: Int)? {
    var file: BodyDescriptor?
    repeat {
      // Without waiting: opening a FIFO would wait for ever.
      file = BodyDescriptor(Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags))
    } while file == nil && errno == EINTR
    guard let file else {
      switch errno {
      case ENOENT, ENOTDIR, ELOOP, ENXIO, ENAMETOOLONG: return nil
      case let code where codes.contains(code): return nil
      default: throw Self.lastError("open the file")
      }
    }
    var status = stat()
    guard fstat(file.number, &status) == 0 else { throw Self.lastError("open the file") }
    return status.st_mode & S_IFMT == S_IFREG ? (file, Int(status.st_size)) : nil
  }

  /// Reads a file from its beginning.
  private func read(
    _ file: BodyDescriptor, _ take: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> (byteCount: Int, digits: String) {
    var hash = self.makeHash()
    var byteCount = 0
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.bufferSize, alignment: 64)
    defer { buffer.deallocate() }
    while true {
      let count = Glibc.read(file.number, buffer.baseAddress, buffer.count)
      if count == 0 { return (byteCount, hash.digits) }
      if count < 0 {
        if errno == EINTR { continue }
        throw Self.lastError("read the file")
      }
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      hash.feed(bytes)
      try take(bytes)
      byteCount += count
    }
  }

  private func check(_ text: String) throws {
    guard let name = BodyName(text) else { throw MutationBodyError.damaged(name: text) }
    guard let (file, byteCount) = try Self.openContent("\(self.path)/\(text)", O_NOFOLLOW),
      byteCount == name.byteCount
    else { throw MutationBodyError.damaged(name: text) }
    let found = try self.read(file) { _ in }
    guard found == (name.byteCount, name.digits) else {
      throw MutationBodyError.damaged(name: text)
    }
  }
}

/// Copies that no row names yet. Their locks are released with the last reference to this.
package final class BodyCopies: Sendable {
  fileprivate struct Copy: Sendable {
    let name: String
    let lock: BodyDescriptor
  }

  private let copies: [Copy]
  private let folder: BodyFolder

  fileprivate init(_ copies: [Copy], in folder: BodyFolder) {
    self.copies = copies
    self.folder = folder
  }

  /// What the row stores.
  package var names: String? { BodyNames.joined(self.copies.map(\.name)) }

  /// Removes them, since no row will name them.
  package func remove() { for copy in self.copies { self.folder.remove(copy.name) } }
}

/// An open file, closed with the last reference to it.
private final class BodyDescriptor: Sendable {
  let number: Int32

  /// Nil if opening it has failed; `errno` says why.
  init?(_ number: Int32) {
    if number < 0 { return nil }
    self.number = number
  }

  deinit { close(self.number) }
}
