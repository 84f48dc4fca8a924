// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody needs GTK to build the library.
let package = Package(
  name: "field-notes-gtk",
  // The name is that of the folder otherwise, which a clone may call as it likes.
  dependencies: [.package(name: "offline-query", path: "../..")],
  targets: [
    .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
    .executableTarget(
      name: "field-notes-gtk",
      dependencies: [
        "CGTK",
        .product(name: "OfflineQuery", package: "offline-query"),
        .product(name: "QueryHTTP", package: "offline-query"),
        .product(name: "SystemMainLoop", package: "offline-query"),
      ],
      resources: [
        .embedInCode("Views/window.ui"), .embedInCode("Views/row.ui"),
        .embedInCode("Views/style.css"),
      ]
    ),
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
