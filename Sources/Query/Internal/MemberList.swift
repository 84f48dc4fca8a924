/// What a ``MemberList`` holds.
@usableFromInline
protocol ListMember: AnyObject {
  /// Where it stands in its list; written by the list alone.
  var place: Int { get set }
}

/// Objects in the order in which they were added. Each knows its place, so that one leaves in constant
/// time, amortised: all rows of a screen may observe one store, and end together.
///
/// One that leaves from between others leaves a hole; the holes are closed when they are the half.
///
/// Its extension alone constrains the type: a generic type whose own constraint names a protocol costs a launch
/// 50 µs, since the runtime library looks through all conformances of the program.
@usableFromInline
struct MemberList<Member: AnyObject> {
  /// The members, and `nil` for each hole. Changed by this type alone.
  @usableFromInline var places = [Member?]()

  /// How many members there are. Changed by this type alone.
  @usableFromInline var count = 0

  @inlinable
  init() {}

  @inlinable
  var isEmpty: Bool { self.count == 0 }
}

extension MemberList where Member: ListMember {
  @inlinable
  mutating func append(_ member: Member) {
    member.place = self.places.count
    self.places.append(member)
    self.count += 1
  }

  /// Removes a member, if it is one.
  @inlinable
  mutating func remove(_ member: Member) {
    let place = member.place
    guard place < self.places.count, self.places[place] === member else { return }
    self.places[place] = nil
    self.count -= 1
    while !self.places.isEmpty, self.places[self.places.count - 1] == nil {
      self.places.removeLast()
    }
    if self.places.count > 2 * self.count + 8 { self.closeHoles() }
  }

  @inlinable
  mutating func closeHoles() {
    var filled = 0
    for place in self.places.indices where self.places[place] != nil {
      self.places.swapAt(filled, place)
      self.places[filled]?.place = filled
      filled += 1
    }
    self.places.removeLast(self.places.count - filled)
  }
}
