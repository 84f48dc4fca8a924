// swift-tools-version: 6.2
import Glibc
import PackageDescription

// A package of its own, so that nobody who uses the library needs what a server needs.

/// With it the key store is checked on PostgreSQL, too.
let hasPostgreSQL = access("/usr/include/postgresql/libpq-fe.h", R_OK) == 0

let systemLibraries: [Target] =
  [.systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])])]
  + (hasPostgreSQL
    ? [.systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])])]
    : [])

let package = Package(
  name: "server-kit",
  products: [.library(name: "ServerKit", targets: ["ServerKit"])],
  targets: systemLibraries + [
    .target(name: "ServerKit", swiftSettings: [.treatAllWarnings(as: .error)]),
    .executableTarget(
      name: "key-store-check",
      dependencies: ["ServerKit"] + systemLibraries.map { .target(name: $0.name) },
      path: "Sources/KeyStoreCheck",
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
  ],
  swiftLanguageModes: [.v6]
)
