// swift-tools-version: 6.2
import PackageDescription

/// Warnings are errors, and every use of an unsafe construct must be acknowledged where it stands.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
]

let package = Package(
    name: "traylog",
    products: [
        .library(name: "Traylog", targets: ["Traylog"]),
        .library(name: "TraylogAudit", targets: ["TraylogAudit"]),
        .executable(name: "traylog", targets: ["traylog-cli"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        .systemLibrary(
            name: "CTraylogLMDB",
            pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]
        ),
        .systemLibrary(
            name: "CTraylogZstd",
            pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]
        ),
        .systemLibrary(
            name: "CTraylogCrypto",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        .target(name: "CTraylogCRC"),
        .target(name: "TraylogDomain", swiftSettings: strict),
        .target(name: "TraylogLMDB", dependencies: ["CTraylogLMDB"], swiftSettings: strict),
        .target(
            name: "TraylogLog",
            dependencies: ["TraylogDomain", "TraylogLMDB", "CTraylogCRC"],
            swiftSettings: strict
        ),
        .target(
            name: "TraylogArchive",
            dependencies: ["TraylogDomain", "TraylogLog", "CTraylogZstd"],
            swiftSettings: strict
        ),
        .target(name: "TraylogAudit", dependencies: ["CTraylogCrypto"], swiftSettings: strict),
        .target(
            name: "Traylog",
            dependencies: ["TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogArchive", "TraylogAudit"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "traylog-cli",
            dependencies: [
                "Traylog",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tools/traylog",
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: ["TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogArchive", "Traylog"],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "TraylogDomainTests", dependencies: ["TraylogDomain", "TestSupport"], exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(name: "TraylogLMDBTests", dependencies: ["TraylogLMDB"], swiftSettings: strict),
        .testTarget(
            name: "TraylogLogTests", dependencies: ["TraylogLog"], exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(name: "TraylogAuditTests", dependencies: ["TraylogAudit"], swiftSettings: strict),
        .testTarget(
            name: "TraylogArchiveTests", dependencies: ["TraylogArchive", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "TraylogTests", dependencies: ["Traylog", "TraylogArchive", "TestSupport", "traylog-cli"],
            swiftSettings: strict),
        .testTarget(
            name: "ModelTests", dependencies: ["Traylog", "TestSupport", "traylog-cli"], swiftSettings: strict),
        .executableTarget(
            name: "traylog-powercut", dependencies: ["TestSupport"], path: "Tests/PowerCut", swiftSettings: strict),
        .executableTarget(
            name: "traylog-torture", dependencies: ["Traylog", "TestSupport"], path: "Tests/Torture",
            exclude: ["faults.c"], swiftSettings: strict),
        .testTarget(
            name: "CrashTests",
            dependencies: ["Traylog", "TestSupport", "traylog-cli", "traylog-powercut", "traylog-torture"],
            exclude: ["PowerCut/recorder.c"], swiftSettings: strict),
        .executableTarget(
            name: "traylog-damage", dependencies: ["TestSupport"], path: "Tests/Damage", swiftSettings: strict),
        .testTarget(
            name: "FaultTests", dependencies: ["Traylog", "TestSupport", "traylog-cli", "traylog-damage"],
            swiftSettings: strict),
        .testTarget(
            name: "CommandLineTests", dependencies: ["Traylog", "TraylogArchive", "TestSupport", "traylog-cli"],
            swiftSettings: strict),
        .testTarget(
            name: "FuzzTests", dependencies: ["Traylog", "TestSupport"], exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "CompatibilityTests", dependencies: ["Traylog", "TestSupport", "traylog-cli"], exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        .testTarget(
            name: "DocumentationTests", dependencies: ["Traylog", "TraylogAudit", "TestSupport", "traylog-cli"],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
