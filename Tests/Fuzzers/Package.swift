// swift-tools-version: 6.2
import PackageDescription

// The coverage-guided fuzzers that Tools/fuzz builds. A package of its own, because every module must be instrumented,
// and nobody else builds it. The folders in Sources lead to those of the package above.
let package = Package(
    name: "traylog",
    targets: [
        .systemLibrary(name: "CTraylogLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(name: "CTraylogZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CTraylogCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CTraylogCRC"),
        .target(name: "TraylogDomain"),
        .target(name: "TraylogLMDB", dependencies: ["CTraylogLMDB"]),
        .target(name: "TraylogLog", dependencies: ["TraylogDomain", "TraylogLMDB", "CTraylogCRC"]),
        .target(name: "TraylogArchive", dependencies: ["TraylogDomain", "TraylogLog", "CTraylogZstd"]),
        .target(name: "TraylogAudit", dependencies: ["CTraylogCrypto"]),
        .target(
            name: "Traylog",
            dependencies: ["TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogArchive", "TraylogAudit"]),
        .target(
            name: "TestSupport",
            dependencies: ["TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogArchive", "Traylog"]),
        .executableTarget(
            name: "traylog-fuzz", dependencies: ["Traylog", "TestSupport"], path: "Sources/TraylogFuzz",
            // The fuzzer brings the main function.
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]),
    ],
    swiftLanguageModes: [.v6]
)
