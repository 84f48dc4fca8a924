// swift-tools-version: 6.2
import PackageDescription

/// The targets that other packages may link: each is a product of the same name.
let libraries: [Target] = [
  .target(name: "Query"),
  .target(name: "Operation", dependencies: ["Query"]),
  .target(
    name: "Migrations",
    path: "Migrations",
    resources: [
      .embedInCode("cache-0001-entries.sql"),
      .embedInCode("mutations-0001-outbox.sql"),
    ]
  ),
  .target(name: "QuerySQLite", dependencies: ["Query", "CSQLite", "CXXHash", "Migrations"]),
  .target(name: "SystemNetwork", dependencies: ["Query", "CGIO"]),
  .target(name: "QueryReplay", dependencies: ["Query"]),
  // Apart from the replayer, since it loads FoundationNetworking and with that libcurl.
  .target(name: "QueryHTTP", dependencies: ["Query"]),
  // One import for a program that wants it all; without QueryHTTP, for its libcurl.
  .target(
    name: "OfflineQuery",
    dependencies: ["Query", "QueryReplay", "QuerySQLite", "SystemNetwork"]
  ),
  .target(
    name: "QueryReplayCommand",
    dependencies: [
      "Query", "QueryHTTP", "QueryReplay", "QuerySQLite", "SystemNetwork", "ToolSupport",
    ]
  ),
]

/// The C libraries, as modules.
let systemLibraries: [Target] = [
  .systemLibrary(
    name: "CSQLite",
    pkgConfig: "sqlite3",
    providers: [.apt(["libsqlite3-dev"])]
  ),
  .systemLibrary(
    name: "CXXHash",
    pkgConfig: "libxxhash",
    providers: [.apt(["libxxhash-dev"])]
  ),
  .systemLibrary(
    name: "CGIO",
    pkgConfig: "gobject-2.0",
    providers: [.apt(["libglib2.0-dev"])]
  ),
]

/// The command-line tools, and what they share; the package manager makes an executable product of each.
let tools: [Target] = [
  .target(name: "ToolSupport", dependencies: ["Query"], path: "Tools/Support"),
  // Of the tools alone: what an application links has none of it.
  .target(name: "QueryInspection", dependencies: ["Query", "QuerySQLite", "CSQLite"]),
  .executableTarget(
    name: "cache-inspect",
    dependencies: ["Query", "QueryInspection", "ToolSupport"],
    path: "Tools/cache-inspect"
  ),
  .executableTarget(
    name: "field-notes",
    dependencies: ["Query", "QueryHTTP", "QuerySQLite", "QueryReplay", "SystemNetwork"],
    path: "Tools/field-notes",
    exclude: ["server"]
  ),
  .executableTarget(
    name: "mutation-replay",
    dependencies: ["QueryReplayCommand"],
    path: "Tools/mutation-replay"
  ),
  .executableTarget(
    name: "cache-bench",
    dependencies: ["Query", "QueryReplay", "QuerySQLite", "CSQLite", "cache-inspect"],
    path: "Tools/cache-bench"
  ),
]

/// The tests, and what they share; never a product.
let tests: [Target] = [
  .target(name: "TestSupport", dependencies: ["Query"], path: "Tests/TestSupport"),
  .testTarget(
    name: "QueryTests",
    dependencies: ["Query", "TestSupport"],
    exclude: ["Identity/vectors.json"]
  ),
  .testTarget(name: "OfflineQueryTests", dependencies: ["OfflineQuery"]),
  .testTarget(name: "OperationTests", dependencies: ["Operation", "TestSupport"]),
  .testTarget(name: "SeedTests", dependencies: ["Query", "Operation", "TestSupport"]),
  .executableTarget(
    name: "storage-worker",
    dependencies: ["Query", "QuerySQLite"],
    path: "Tests/StorageWorker"
  ),
  .target(name: "CFaultVFS", dependencies: ["CSQLite"], path: "Tests/CFaultVFS"),
  .target(name: "CFileRecorder", path: "Tests/CFileRecorder"),
  .executableTarget(
    name: "power-worker",
    dependencies: ["CFileRecorder", "CSQLite", "Query", "QuerySQLite", "QueryInspection"],
    path: "Tests/PowerWorker"
  ),
  .target(
    name: "StorageTestSupport",
    dependencies: ["Query", "QuerySQLite", "CSQLite", "TestSupport"],
    path: "Tests/StorageTestSupport"
  ),
  .testTarget(
    name: "QuerySQLiteTests",
    dependencies: [
      "QuerySQLite", "QueryInspection", "Query", "Migrations", "CSQLite", "CFaultVFS",
      "TestSupport", "StorageTestSupport", "storage-worker", "power-worker", "CFileRecorder",
    ],
    exclude: ["Fixtures"]
  ),
  .testTarget(
    name: "QueryInspectionTests",
    dependencies: [
      "QueryInspection", "QuerySQLite", "Query", "TestSupport", "StorageTestSupport",
      "storage-worker",
    ]
  ),
  .executableTarget(
    name: "network-watcher",
    dependencies: ["Query", "SystemNetwork"],
    path: "Tests/NetworkWatcher"
  ),
  .executableTarget(
    name: "replay-worker",
    dependencies: ["Query", "QueryHTTP", "QuerySQLite", "QueryReplay"],
    path: "Tests/ReplayWorker"
  ),
  .executableTarget(
    name: "offline-notes",
    dependencies: ["Query", "QueryHTTP", "QuerySQLite", "QueryReplay", "SystemNetwork"],
    path: "Tests/OfflineNotes"
  ),
  .executableTarget(
    name: "library-lister",
    dependencies: ["Query", "QueryReplay"],
    path: "Tests/LibraryLister"
  ),
  .testTarget(
    name: "QueryReplayTests",
    dependencies: [
      "QueryReplay", "Query", "QuerySQLite", "TestSupport", "replay-worker", "offline-notes",
      "library-lister",
    ]
  ),
  .testTarget(
    name: "QueryHTTPTests",
    dependencies: [
      "QueryHTTP", "QueryReplay", "Query", "QuerySQLite", "TestSupport", "StorageTestSupport",
      "replay-worker",
    ]
  ),
  .executableTarget(
    name: "torture",
    dependencies: [
      "Query", "QuerySQLite", "QueryInspection", "QueryReplay", "CSQLite", "TestSupport",
    ],
    path: "Tests/Torture"
  ),
  .testTarget(name: "TortureTests", dependencies: ["torture", "TestSupport"]),
  .testTarget(name: "ToolSupportTests", dependencies: ["ToolSupport", "Query", "TestSupport"]),
  .testTarget(
    name: "CacheInspectTests",
    dependencies: [
      "cache-inspect", "Query", "QuerySQLite", "QueryInspection", "ToolSupport", "TestSupport",
      "storage-worker",
    ],
    exclude: ["Golden"]
  ),
  .testTarget(name: "FieldNotesTests", dependencies: ["field-notes", "TestSupport"]),
  .testTarget(
    name: "QueryReplayCommandTests",
    dependencies: [
      "QueryReplayCommand", "mutation-replay", "cache-inspect", "Query", "QueryHTTP",
      "QueryReplay", "QuerySQLite", "ToolSupport", "TestSupport",
    ]
  ),
  .testTarget(
    name: "SystemNetworkTests",
    dependencies: ["SystemNetwork", "Query", "CGIO", "TestSupport", "network-watcher"]
  ),
]

let package = Package(
  name: "offline-query",
  products: libraries.map { .library(name: $0.name, targets: [$0.name]) },
  targets: libraries + systemLibraries + tools + tests,
  swiftLanguageModes: [.v6]
)

// A system library holds no Swift and takes no settings.
for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
  ]
}
