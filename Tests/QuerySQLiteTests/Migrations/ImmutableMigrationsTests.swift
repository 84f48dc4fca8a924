import Migrations
import Testing

@testable import QuerySQLite

/// A step that was released never changes: databases in the field were made by it. A new step is
/// added to the list, and its line here.
@Suite struct ImmutableMigrationsTests {
  @Test(arguments: [
    (
      DatabaseKind.cache,
      ["cache-0001-entries eb3569a235aee2570cd351eb31a0658b"]
    ),
    (
      DatabaseKind.mutations,
      ["mutations-0001-outbox 95ae93adbda922f98de206ca1e4495b0"]
    ),
  ])
  func stepsAreThoseThatWereReleased(_ kind: DatabaseKind, _ released: [String]) {
    let found = kind.migrations.map { "\($0.name) \(Migrator.checksum(of: $0))" }
    #expect(found == released)
  }

  @Test(arguments: DatabaseKind.allCases)
  func namesCountFromOne(_ kind: DatabaseKind) {
    for (index, migration) in kind.migrations.enumerated() {
      let digits = String(index + 1)
      let number = String(repeating: "0", count: 4 - digits.count) + digits
      #expect(migration.name.hasPrefix("\(kind)-\(number)-"))
    }
  }
}
