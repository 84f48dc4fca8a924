extension Array {
  /// What is dead is placed before the first that was entered later.
  ///
  /// - Parameters:
  ///   - isDead: Whether a member is dead. Those that are stand in the order of their numbers.
  ///   - number: Its place in the order in which all were entered.
  package func placingDead(
    _ isDead: (Element) -> Bool, number: (Element) -> some Comparable
  ) -> Self {
    guard self.contains(where: isDead) else { return self }
    var dead = self.filter(isDead)[...]
    var placed = Self()
    for member in self where !isDead(member) {
      let earlier = dead.prefix { number($0) < number(member) }
      placed += earlier
      placed.append(member)
      dead = dead.dropFirst(earlier.count)
    }
    return placed + dead
  }
}
