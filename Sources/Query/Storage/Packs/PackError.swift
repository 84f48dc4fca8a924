/// Why a pack is not whole.
public enum PackError: Error, Hashable, Sendable {
  /// The client has no storage, so nothing can be kept.
  case noStorage
  /// The packs would have more bytes than they may.
  ///
  /// - Parameters:
  ///   - pack: The name of the pack.
  ///   - neededBytes: How many bytes all packs would have, as far as that can be told.
  ///   - limit: How many they may have.
  case noRoom(pack: String, neededBytes: Int, limit: Int)
  /// The packs would have more queries than they may.
  ///
  /// - Parameters:
  ///   - pack: The name of the pack, which is not kept.
  ///   - members: How many queries all packs would have.
  ///   - limit: How many they may have.
  case tooManyMembers(pack: String, members: Int, limit: Int)
  /// Members could not be fetched.
  ///
  /// - Parameters:
  ///   - pack: The name of the pack.
  ///   - members: How many.
  ///   - first: What the first of them failed with.
  case membersFailed(pack: String, members: Int, first: String)
  /// Members wait for the code that makes their requests: the same `keep`, or `packs.register`.
  ///
  /// - Parameters:
  ///   - pack: The name of the pack.
  ///   - members: How many.
  case notRegistered(pack: String, members: Int)
  /// The pack is to be fetched over an unmetered network, and the client's network observer does not tell
  /// what a network costs: see ``NetworkCostObserver``.
  ///
  /// - Parameter pack: The name of the pack.
  case networkCostUnknown(pack: String)
  /// The pack was removed, or is gone with the file that it was in.
  ///
  /// - Parameter pack: The name of the pack.
  case gone(pack: String)
  /// The client that would fetch the rest has been let go. A new client of the same storage goes on by
  /// ``OfflinePacks/resume()``.
  ///
  /// - Parameter pack: The name of the pack.
  case clientGone(pack: String)
  /// A query twice, with different numbers of pages.
  ///
  /// - Parameters:
  ///   - pack: The name of the pack, which is not kept.
  ///   - member: The identity of the query.
  case differingPages(pack: String, member: QueryIdentity)
}

extension PackError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noStorage:
      "A pack needs a storage to be kept in: create the client with QueryClient(storage:)."
    case .noRoom(let pack, let needed, let limit):
      """
      The pack "\(pack)" stopped: all packs may have \(limit) bytes, nine tenths of the storage's \
      maximumBytes, and would need about \(needed). What is fetched stays. Raise maximumBytes, or keep \
      less.
      """
    case .tooManyMembers(let pack, let members, let limit):
      """
      The pack "\(pack)" is not kept: all packs may have \(limit) queries, nine tenths of the storage's \
      maximumEntries, and would have \(members). Raise maximumEntries, or keep less.
      """
    case .membersFailed(let pack, let members, let first):
      """
      \(members) of the pack "\(pack)" could not be fetched, and are tried again by packs.resume; the first \
      of them: \(first)
      """
    case .notRegistered(let pack, let members):
      """
      \(members) of the pack "\(pack)" wait for the code that makes their requests: call keep with the \
      same list, or packs.register with their type.
      """
    case .networkCostUnknown(let pack):
      """
      The pack "\(pack)" is fetched over an unmetered network alone, and the client's network observer \
      does not tell what a network costs. SystemNetworkObserver does.
      """
    case .gone(let pack):
      """
      The pack "\(pack)" was removed, or is gone with the cache that it was in. Keep it again if it is \
      wanted.
      """
    case .clientGone(let pack):
      """
      The pack "\(pack)" is not whole, and the client that would fetch the rest has been let go. Keep the \
      client, or call packs.resume of a new one.
      """
    case .differingPages(let pack, let member):
      """
      The pack "\(pack)" is not kept: it has \(member) twice, with different numbers of pages. List it once.
      """
    }
  }
}
