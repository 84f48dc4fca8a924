import Foundation
import Query

extension CacheWriter {
  /// Runs a transaction on the packs of a partition, and tells all who listen if it has changed them: a
  /// process that only looks must not wake the others, which would look then.
  ///
  /// - Throws: `PackError`, `StorageError`.
  func changePacks<R>(
    of partition: CachePartition, _ operation: String,
    _ body: (PackTables) throws -> (result: R, hasChanged: Bool)
  ) throws -> R {
    do {
      let connection = try self.usableConnection()
      var done: (result: R, hasChanged: Bool)?
      try self.makingRoom {
        try self.write(in: partition, connection) { changes in
          let outcome = try body(PackTables(partition: changes.partition, on: connection))
          done = outcome
          return outcome.hasChanged
        }
      }
      guard let done else { throw CacheDatabase.closed }
      if done.hasChanged { partition.tellOfPacks() }
      return done.result
    } catch let error as PackError {
      throw error
    } catch {
      self.didFail(error)
      throw StorageError(any: error, operation: operation)
    }
  }

  /// The name of this process's owner file, which is made with the first claim.
  ///
  /// - Throws: `StorageError`.
  func packOwnerName() throws(StorageError) -> String {
    if let packOwner { return packOwner.name }
    let owner = try OwnerFile(in: self.opener.folder)
    self.packOwner = owner
    return owner.name
  }

  /// Claims members of a pack for this process.
  ///
  /// - Throws: `StorageError`.
  func claim(_ request: PackClaimRequest, in partition: CachePartition) throws -> PackClaim? {
    let owner = try self.packOwnerName()
    let owners = OwnerFile.folder(in: self.opener.folder)
    var gone = Set<String>()
    let claim = try self.changePacks(of: partition, "claim") { tables in
      try tables.claim(request, for: owner, limits: partition.packLimits) { other in
        // A process that exits removes its file.
        let isGone = OwnerFile.state(of: other, in: owners) != .alive
        if isGone { gone.insert(other) }
        return isGone
      }
    }
    // Bytes: the lock of an owner that has died.
    for other in gone where UUID(uuidString: other) != nil { unlink("\(owners)/\(other)") }
    return claim
  }
}
