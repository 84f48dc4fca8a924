import Query
import QueryInspection

/// What a store comes to, in JSON.
struct StatisticsView: Encodable {
  let files: [FileView]
  let partitions: [PartitionView]
  let kinds: [GroupView]
  let ages: [GroupView]
  let largest: [EntryView]
  let limits: LimitsView
  /// The files of mutations; nil if there are none.
  let bodies: GroupView?

  init(_ statistics: StoreStatistics, now: Int64) {
    self.files = statistics.files.map { FileView($0) }
    self.partitions = statistics.partitions.map { PartitionView($0) }
    self.kinds = statistics.kinds.map { GroupView($0) }
    self.ages = statistics.ages.map { GroupView($0) }
    self.largest = statistics.largest.map { EntryView($0, now: now) }
    self.limits = LimitsView(statistics.limits)
    self.bodies = statistics.bodies.count > 0 ? GroupView(statistics.bodies) : nil
  }

  /// A database file.
  struct FileView: Encodable {
    let name: String
    let folder: String
    let byteCount: Int
    let logByteCount: Int?
    let pageSize: Int
    let pages: Int
    let freePages: Int
    let level: Int
    let access: String
    let setAside: [String]

    init(_ file: StoreStatistics.File) {
      (self.name, self.folder, self.access) = (file.name, file.folder, file.access)
      (self.byteCount, self.logByteCount) = (file.byteCount, file.logByteCount)
      (self.pageSize, self.pages, self.freePages) = (file.pageSize, file.pages, file.freePages)
      (self.level, self.setAside) = (file.level, file.setAside)
    }
  }

  /// An account.
  struct PartitionView: Encodable {
    let name: String
    let entries: Int
    let byteCount: Int
    let pages: Int
    let quarantined: Int
    let quarantinedByteCount: Int
    let pending: Int
    let leased: Int
    let dead: Int
    let history: Int
    let historyByteCount: Int
    let pausedAt: String?
    /// nil if there are none.
    let packs: [PackView]?

    init(_ partition: StoreStatistics.Partition) {
      self.name = partition.name
      (self.entries, self.byteCount) = (partition.entries, partition.byteCount)
      self.pages = partition.pages
      self.quarantined = partition.quarantined
      self.quarantinedByteCount = partition.quarantinedByteCount
      self.pending = partition.mutations.pending
      self.leased = partition.mutations.leased
      self.dead = partition.mutations.dead
      (self.history, self.historyByteCount) = (partition.history, partition.historyByteCount)
      self.pausedAt = Moments.exact(partition.pausedAt)
      self.packs = partition.packs.isEmpty ? nil : partition.packs.map { PackView($0) }
    }
  }

  /// A pack.
  struct PackView: Encodable {
    let name: String
    let done: Int
    let total: Int
    let failed: Int
    let unregistered: Int
    let byteCount: Int
    let network: String
    let createdAt: String?

    init(_ pack: StoredPack) {
      (self.name, self.network) = (pack.name, pack.network.rawValue)
      (self.done, self.total) = (pack.counts.done, pack.counts.total)
      (self.failed, self.unregistered) = (pack.counts.failed, pack.counts.unregistered)
      self.byteCount = pack.counts.bytes
      self.createdAt = Moments.exact(pack.createdAt.microsecondsSince1970)
    }
  }

  /// Entries that have something in common.
  struct GroupView: Encodable {
    let name: String
    let count: Int
    let byteCount: Int

    init(_ group: StoreStatistics.Group) {
      (self.name, self.count, self.byteCount) = (group.name, group.count, group.byteCount)
    }
  }

  /// What a partition may have by default.
  struct LimitsView: Encodable {
    let entries: Int
    let byteCount: Int
    let valueByteCount: Int
    let quarantined: Int
    let quarantinedByteCount: Int

    init(_ limits: StoreStatistics.Limits) {
      (self.entries, self.byteCount) = (limits.entries, limits.byteCount)
      self.valueByteCount = limits.valueByteCount
      self.quarantined = limits.quarantined
      self.quarantinedByteCount = limits.quarantinedByteCount
    }
  }
}
