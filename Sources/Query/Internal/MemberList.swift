/// What a ``MemberList`` holds.
///
/// A class rather than a protocol: the type of a member would be looked up for its conformance.
// @unchecked: `place` is guarded by the lock of the list.
@usableFromInline
package class ListMember: @unchecked Sendable {
  /// Where it stands in its list; written by the list alone.
  @exclusivity(unchecked) @usableFromInline final fileprivate(set) var place = 0

  @usableFromInline
  init() {}
}

/// Objects in the order in which they were added. Each knows its place, so that one leaves in constant
/// time, amortised: all rows of a screen may observe one store, and end together.
///
/// One that leaves from between others leaves a hole; the holes are closed when they are the half.
///
/// Not generic: the code of a generic list looks up the types of its members in the runtime library, which
/// takes as long as all else when a store leaves. ``MemberList`` is one with a type.
@usableFromInline
struct AnyMemberList {
  /// The members, and `nil` for each hole.
  @usableFromInline private(set) var places = [ListMember?]()

  /// How many members there are.
  @usableFromInline private(set) var count = 0

  @usableFromInline
  init() {}

  @usableFromInline
  mutating func append(_ member: ListMember) {
    member.place = self.places.count
    self.places.append(member)
    self.count += 1
  }

  /// Removes a member, if it is one.
  @usableFromInline
  mutating func remove(_ member: ListMember) {
    let place = member.place
    guard place < self.places.count, self.places[place] === member else { return }
    self.places[place] = nil
    self.count -= 1
    while case .some(nil) = self.places.last { self.places.removeLast() }
    if self.places.count > 2 * self.count + 8 { self.closeHoles() }
  }

  /// Calls a closure with the members, in their order. The closure may release the lock of the list.
  ///
  /// The array itself must not be read without the lock: a member that leaves once no copy is left is taken out of
  /// it in its place. What orders that after the reading is the count of references to the array, into which
  /// the thread sanitizer does not see.
  @inlinable
  func withUncountedMembers<Result>(
    _ body: (UnsafeBufferPointer<Unmanaged<ListMember>>) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(of: Unmanaged<ListMember>.self, capacity: self.count) { copies in
      var end = 0
      self.places.withUnsafeBufferPointer { places in
        for place in places.indices {
          guard let member = places[place].map(Unmanaged.passUnretained) else { continue }
          copies.initializeElement(at: end, to: member)
          end += 1
        }
      }
      defer { withExtendedLifetime(self.places) {} }
      return body(UnsafeBufferPointer(copies))
    }
  }

  private mutating func closeHoles() {
    // In the array's memory, since reading a member from the array retains it.
    let filled = self.places.withUnsafeMutableBufferPointer { places in
      var filled = 0
      for place in places.indices {
        guard let member = places[place].map(Unmanaged.passUnretained) else { continue }
        member._withUnsafeGuaranteedRef { $0.place = filled }
        places.swapAt(filled, place)
        filled += 1
      }
      return filled
    }
    self.places.removeLast(self.places.count - filled)
  }
}

/// An ``AnyMemberList`` of objects of one type.
@usableFromInline
struct MemberList<Member: ListMember> {
  /// All are of the type.
  @usableFromInline private(set) var members = AnyMemberList()

  @usableFromInline
  init() {}

  @inlinable
  var isEmpty: Bool { self.members.count == 0 }

  /// The members, in their order.
  ///
  /// - Complexity: O(*n*).
  @inlinable
  var all: [Member] {
    self.members.places.compactMap { member in
      member.map { unsafeDowncast($0, to: Member.self) }
    }
  }

  @usableFromInline
  mutating func append(_ member: Member) { self.members.append(member) }

  /// Removes a member, if it is one.
  @usableFromInline
  mutating func remove(_ member: Member) { self.members.remove(member) }
}
