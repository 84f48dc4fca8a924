package import FoundationEssentials
import Query

// MARK: - Checksums of pages

extension XXH128 {
  /// The checksum of a page: the hash over the hash of its ID and that of its value, which need not
  /// be joined for it.
  ///
  /// - Complexity: O(*n*) in the bytes of both.
  package init(pageID: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    self.init(hashingAll: [XXH128(hashing: pageID), XXH128(hashing: value)])
  }

  /// The checksum of a page: see ``init(pageID:value:)-(UnsafeRawBufferPointer,_)``.
  package init(pageID: Data, value: Data) {
    self.init(hashingAll: [XXH128(hashing: pageID), XXH128(hashing: value)])
  }

  /// The checksum of an entry whose value is in pages: the hash over those of the next and of the
  /// previous ID, 16 zeros for a missing one, and then the checksums of its pages in order. So it
  /// also detects a missing or misplaced page.
  ///
  /// - Parameters:
  ///   - checksums: The checksums of the pages.
  ///   - next: The encoded ID of the page after the last one.
  ///   - previous: The encoded ID of the page before the first one.
  package init(pages checksums: [XXH128], next: Data?, previous: Data?) {
    self.init(
      hashingAll: [next.map { XXH128(hashing: $0) }, previous.map { XXH128(hashing: $0) }]
        + checksums)
  }

  /// The checksum of a value, or of a page, with its metadata: this one if there is none. So metadata is
  /// never taken for that of another value.
  package func covering(_ metadata: Data?) -> XXH128 {
    guard let metadata else { return self }
    return XXH128(hashingAll: [self, XXH128(hashing: metadata)])
  }

  /// The hash over hashes in their stored form; nil is 16 zeros.
  private init(hashingAll hashes: [XXH128?]) {
    var halves = [UInt64]()
    halves.reserveCapacity(hashes.count * 2)
    for hash in hashes {
      halves.append(hash?.high.bigEndian ?? 0)
      halves.append(hash?.low.bigEndian ?? 0)
    }
    self = halves.withUnsafeBytes { XXH128(hashing: $0) }
  }
}
