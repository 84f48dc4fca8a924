// swift-tools-version: 6.2
import CompilerPluginSupport
import Glibc
import PackageDescription

// MARK: - Libraries

/// The targets that other packages may link: each is a product of the same name.
let libraries: [Target] = [
  .target(name: "Query", dependencies: ["CProbes"]),
  .target(name: "Operation", dependencies: ["Query"]),
  .target(
    name: "Migrations",
    path: "Migrations",
    resources: [
      .embedInCode("cache-0001-entries.sql"),
      .embedInCode("mutations-0001-outbox.sql"),
    ]
  ),
  .target(
    name: "QuerySQLite",
    dependencies: ["Query", "CProbes", "CSQLite", "CXXHash", "Migrations"]
  ),
  .target(name: "SystemNetwork", dependencies: ["Query", "CGIO"]),
  .target(name: "SystemJournal", dependencies: ["Query"]),
  .target(name: "SystemMainLoop", dependencies: ["CGIO"]),
  .target(name: "QueryReplay", dependencies: ["Query", "CProbes"]),
  // Apart from the replayer, since it loads libcurl, and FoundationNetworking for its types.
  .target(name: "QueryHTTP", dependencies: ["Query", "CCurl", "CZlib"]),
  // One import for a program that wants it all; without QueryHTTP, for its libcurl.
  .target(
    name: "OfflineQuery",
    dependencies: ["Query", "QueryReplay", "QuerySQLite", "SystemNetwork"]
  ),
  .target(
    name: "QueryReplayCommand",
    dependencies: [
      "Query", "QueryHTTP", "QueryReplay", "QuerySQLite", "SystemJournal", "SystemNetwork",
      "ToolSupport",
    ]
  ),
]

/// The C libraries, as modules.
let systemLibraries: [Target] = [
  // A header alone, without a library.
  .systemLibrary(name: "CProbes"),
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
    name: "CCurl",
    pkgConfig: "libcurl",
    providers: [.apt(["libcurl4-openssl-dev"])]
  ),
  .systemLibrary(
    name: "CZlib",
    pkgConfig: "zlib",
    providers: [.apt(["zlib1g-dev"])]
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
  .target(name: "CCallCounts", path: "Tools/CCallCounts"),
  .executableTarget(
    name: "lean-reader",
    dependencies: ["CSQLite", "CCallCounts"],
    path: "Tools/lean-reader"
  ),
  .executableTarget(
    name: "cache-bench",
    dependencies: [
      "Query", "QueryReplay", "QuerySQLite", "CSQLite", "CCallCounts", "cache-inspect",
      "lean-reader",
    ],
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
  .executableTarget(
    name: "http-worker",
    dependencies: ["Query", "QueryHTTP", "QuerySQLite"],
    path: "Tests/HTTPWorker"
  ),
  .testTarget(
    name: "QueryHTTPTests",
    dependencies: [
      "QueryHTTP", "QueryReplay", "Query", "QuerySQLite", "TestSupport", "StorageTestSupport",
      "replay-worker", "http-worker",
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
  .testTarget(name: "CacheBenchTests", dependencies: ["cache-bench", "CSQLite", "TestSupport"]),
  .testTarget(name: "FieldNotesTests", dependencies: ["field-notes", "TestSupport"]),
  .testTarget(
    name: "QueryReplayCommandTests",
    dependencies: [
      "QueryReplayCommand", "mutation-replay", "cache-inspect", "Query", "QueryHTTP",
      "QueryReplay", "QuerySQLite", "ToolSupport", "TestSupport",
    ],
    exclude: ["CheckServer/Servers"]
  ),
  .testTarget(
    name: "SystemNetworkTests",
    dependencies: ["SystemNetwork", "Query", "CGIO", "TestSupport", "network-watcher"]
  ),
  .testTarget(
    name: "SystemJournalTests",
    dependencies: ["SystemJournal", "Query", "TestSupport"]
  ),
  .executableTarget(
    name: "main-loop-worker",
    dependencies: ["CGIO", "Query", "SystemMainLoop"],
    path: "Tests/MainLoopWorker"
  ),
  .testTarget(
    name: "SystemMainLoopTests",
    dependencies: ["SystemMainLoop", "TestSupport", "main-loop-worker"]
  ),
]

// MARK: - Macros

/// The toolchain's syntax library, which the macros are made with: the folder, or nil if it has none.
///
/// The manifest is loaded from `lib/swift/pm/ManifestAPI` of the toolchain that builds, and the library
/// stands beside it, in `lib/swift/host`.
let syntaxLibrary: String? = {
  // Read line by line: a read of this file returns a page at most, however much is asked for.
  guard let maps = fopen("/proc/self/maps", "r") else { return nil }
  defer { fclose(maps) }
  var line: UnsafeMutablePointer<CChar>?
  var capacity = 0
  defer { free(line) }
  while getline(&line, &capacity, maps) > 0, let line {
    let words = String(cString: line).split(separator: " ", maxSplits: 5)
    guard
      let path = words.last?.drop(while: { $0 == " " }),
      let end = path.range(of: "/pm/ManifestAPI/libPackageDescription.so")
    else { continue }
    let host = path[..<end] + "/host"
    let needed = "\(host)/SwiftCompilerPluginMessageHandling.swiftmodule"
    return access(needed, R_OK) == 0 ? String(host) : nil
  }
  return nil
}()

extension Substring {
  /// Where a text begins; the standard library has no such search without Foundation.
  func range(of text: String) -> Index? {
    self.indices.first { self[$0...].hasPrefix(text) }
  }
}

/// What a target needs that is made with the syntax library.
let syntaxSettings: [SwiftSetting] = [.unsafeFlags(["-I", syntaxLibrary ?? ""])]
let syntaxLinking: [LinkerSetting] = [
  .unsafeFlags(
    [
      "-L", syntaxLibrary ?? "", "-Xlinker", "-rpath", "-Xlinker", syntaxLibrary ?? "",
      "-lSwiftSyntax", "-lSwiftSyntaxMacros", "-lSwiftSyntaxMacroExpansion",
      "-lSwiftSyntaxBuilder", "-lSwiftDiagnostics", "-lSwiftParser", "-lSwiftBasicFormat",
      "-lSwiftCompilerPluginMessageHandling",
    ])
]

/// The macros: who does not import `QueryMacros` builds none of them.
let macros: [Target] = [
  // Apart from the plugin, since a test that depends on a plugin builds it twice.
  .target(
    name: "QueryMacroExpansion",
    swiftSettings: syntaxSettings,
    linkerSettings: syntaxLinking
  ),
  .macro(
    name: "QueryMacroPlugin",
    dependencies: ["QueryMacroExpansion"],
    swiftSettings: syntaxSettings,
    linkerSettings: syntaxLinking
  ),
  .target(name: "QueryMacros", dependencies: ["Query", "QueryMacroPlugin"]),
  .testTarget(
    name: "QueryMacroExpansionTests",
    dependencies: ["QueryMacroExpansion"],
    swiftSettings: syntaxSettings,
    linkerSettings: syntaxLinking
  ),
  .testTarget(
    name: "QueryMacrosTests",
    dependencies: ["QueryMacros", "Query", "QuerySQLite", "QueryReplay", "TestSupport"]
  ),
]

// MARK: - Package

/// The names in ONLY_TESTS, split by commas: while a part is worked on, the only test targets to build;
/// nil if all are.
let chosenTests = Context.environment["ONLY_TESTS"]?.split(separator: ",").map(String.init)

let targets = (libraries + systemLibraries + tools + tests + (syntaxLibrary == nil ? [] : macros))
  .filter { target in
    guard let chosenTests, target.type == .test else { return true }
    return chosenTests.contains(target.name)
  }

let package = Package(
  name: "offline-query",
  products: libraries.map { .library(name: $0.name, targets: [$0.name]) }
    + (syntaxLibrary == nil ? [] : [.library(name: "QueryMacros", targets: ["QueryMacros"])]),
  targets: targets,
  swiftLanguageModes: [.v6]
)

// A system library holds no Swift and takes no settings.
for target in package.targets where target.type != .system {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      .enableUpcomingFeature("InferIsolatedConformances"),
      .treatAllWarnings(as: .error),
    ]
}
