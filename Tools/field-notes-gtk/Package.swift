// swift-tools-version: 6.2
import PackageDescription

let dependencies: [Target.Dependency] = [
  "CGTK",
  .product(name: "OfflineQuery", package: "offline-query"),
  .product(name: "QueryHTTP", package: "offline-query"),
  .product(name: "SystemMainLoop", package: "offline-query"),
]
let resources: [Resource] = [
  .embedInCode("Views/window.ui"), .embedInCode("Views/row.ui"), .embedInCode("Views/style.css"),
]

// A package of its own, so that nobody needs GTK to build the library.
let package = Package(
  name: "field-notes-gtk",
  // Otherwise its name would be that of its folder, which a clone may call as it likes.
  dependencies: [.package(name: "offline-query", path: "../..")],
  targets: [
    .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
    .executableTarget(
      name: "field-notes-gtk", dependencies: dependencies, resources: resources),
    // Figures of the same window.
    .executableTarget(name: "window-bench", dependencies: dependencies, resources: resources),
  ],
  swiftLanguageModes: [.v6]
)

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
