// swift-tools-version: 6.2
import PackageDescription

/// Every use of an unsafe construct must be acknowledged where it stands.
///
/// Warnings are errors where `TRAYLOG_STRICT` is set, as `Tools/test` does. Nowhere else: the flag contradicts
/// `-suppress-warnings`, with which a build system compiles dependencies, and a newer compiler's new warning must not break a
/// package that depends on this one.
let strict: [SwiftSetting] =
    (Context.environment["TRAYLOG_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]) + [.strictMemorySafety()]

/// For what only TraylogLogging needs: without the trait, a package that depends on this one does not resolve it.
let logging = TargetDependencyCondition.when(traits: ["Logging"])

let package = Package(
    name: "traylog",
    // The store and the client need Linux. On macOS only the modules that need no system compile, as CI checks.
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Traylog", targets: ["Traylog"]),
        .library(name: "TraylogAudit", targets: ["TraylogAudit", "TraylogEvidence"]),
        .library(name: "TraylogJSON", targets: ["TraylogJSON"]),
        .library(name: "TraylogFoundation", targets: ["TraylogFoundation"]),
        .library(name: "TraylogLogging", targets: ["TraylogLogging"]),
        .library(name: "TraylogCluster", targets: ["TraylogCluster"]),
        .library(name: "TraylogClient", targets: ["TraylogClient"]),
        .library(name: "TraylogClientHTTP", targets: ["TraylogClientHTTP"]),
        .executable(name: "traylog", targets: ["traylog-cli"]),
        .executable(name: "traylog-tray", targets: ["traylog-tray"]),
    ],
    traits: [
        .trait(
            name: "Logging",
            description: "The types of TraylogLogging, on swift-log, swift-metrics and swift-service-lifecycle.")
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
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
        .systemLibrary(
            name: "CTraylogCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .target(name: "CTraylogCRC"),
        .systemLibrary(name: "CTraylogSystem"),
        .target(name: "TraylogCLibrary", swiftSettings: strict),
        .target(name: "TraylogDomain", swiftSettings: strict),
        .target(name: "TraylogJSON", dependencies: ["TraylogDomain"], swiftSettings: strict),
        .target(name: "TraylogReplica", dependencies: ["TraylogDomain", "TraylogJSON"], swiftSettings: strict),
        .target(
            name: "TraylogPlatform", dependencies: ["CTraylogSystem", "TraylogCLibrary"], swiftSettings: strict),
        .target(
            name: "TraylogLMDB", dependencies: ["CTraylogCRC", "CTraylogLMDB", "TraylogPlatform"],
            swiftSettings: strict),
        .target(name: "TraylogCodec", dependencies: ["CTraylogCRC", "TraylogDomain"], swiftSettings: strict),
        .target(
            name: "TraylogLog",
            dependencies: ["TraylogCodec", "TraylogDomain", "TraylogLMDB", "TraylogPlatform"],
            swiftSettings: strict),
        .target(
            name: "TraylogArchive",
            dependencies: ["CTraylogZstd", "TraylogAudit", "TraylogDomain", "TraylogLog", "TraylogPlatform"],
            swiftSettings: strict),
        .target(name: "TraylogAudit", dependencies: ["CTraylogCrypto"], swiftSettings: strict),
        .target(
            name: "TraylogEvidence", dependencies: ["TraylogAudit", "TraylogCodec", "TraylogDomain", "TraylogJSON"],
            swiftSettings: strict),
        .target(
            name: "TraylogStates",
            dependencies: [
                "TraylogArchive", "TraylogDomain", "TraylogJSON", "TraylogLMDB", "TraylogLog", "TraylogPlatform",
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogFold",
            dependencies: [
                "TraylogDomain", "TraylogLog", "TraylogLMDB", "TraylogPlatform", "TraylogReplica", "TraylogStates",
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogTree",
            dependencies: [
                "TraylogAudit", "TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogPlatform", "TraylogStates",
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogQueries",
            dependencies: [
                "TraylogDomain", "TraylogFold", "TraylogJSON", "TraylogLMDB", "TraylogLog", "TraylogPlatform",
                "TraylogReplica", "TraylogStates", "TraylogTree",
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogWriter",
            dependencies: [
                "TraylogDomain", "TraylogFold", "TraylogJSON", "TraylogLMDB", "TraylogLog", "TraylogPlatform",
                "TraylogQueries", "TraylogStates",
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogObservation",
            dependencies: [
                "TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogPlatform", "TraylogQueries", "TraylogStates",
                "TraylogWriter",
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogChecks",
            dependencies: [
                "TraylogArchive", "TraylogAudit", "TraylogDomain", "TraylogEvidence", "TraylogFold", "TraylogJSON",
                "TraylogLMDB", "TraylogLog", "TraylogPlatform", "TraylogQueries", "TraylogStates", "TraylogTree",
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogRewrite",
            dependencies: [
                "TraylogArchive", "TraylogAudit", "TraylogChecks", "TraylogDomain", "TraylogFold", "TraylogJSON",
                "TraylogLMDB", "TraylogLog", "TraylogPlatform", "TraylogQueries", "TraylogStates", "TraylogTree",
            ],
            swiftSettings: strict),
        .target(
            name: "Traylog",
            dependencies: [
                "TraylogArchive", "TraylogAudit", "TraylogChecks", "TraylogDomain", "TraylogEvidence", "TraylogFold",
                "TraylogJSON", "TraylogLMDB", "TraylogLog", "TraylogObservation", "TraylogPlatform", "TraylogQueries",
                "TraylogReplica", "TraylogRewrite", "TraylogStates", "TraylogTree", "TraylogWriter",
            ],
            swiftSettings: strict),
        .target(name: "TraylogFoundation", dependencies: ["Traylog"], swiftSettings: strict),
        .target(
            name: "TraylogLogging",
            dependencies: [
                "Traylog",
                .product(name: "Logging", package: "swift-log", condition: logging),
                .product(name: "Metrics", package: "swift-metrics", condition: logging),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: logging),
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogCluster", dependencies: ["Traylog", "TraylogDomain", "TraylogLog"], swiftSettings: strict),
        .target(
            name: "TraylogClient",
            dependencies: [
                "TraylogAudit", "TraylogDomain", "TraylogJSON", "TraylogLMDB", "TraylogPlatform", "TraylogReplica",
            ],
            swiftSettings: strict),
        .target(
            name: "TraylogClientHTTP",
            dependencies: ["TraylogClient", .target(name: "CTraylogCurl", condition: .when(platforms: [.linux]))],
            swiftSettings: strict),
        .target(name: "TerminalText", path: "Tools/terminal", swiftSettings: strict),
        .executableTarget(
            name: "traylog-tray",
            dependencies: [
                "TerminalText", "TraylogClient", "TraylogClientHTTP",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tools/traylog-tray",
            swiftSettings: strict),
        .executableTarget(
            name: "traylog-cli",
            dependencies: [
                "TerminalText", "Traylog", "TraylogCLibrary", "TraylogJSON",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tools/traylog",
            packageAccess: false, swiftSettings: strict),
        .target(
            name: "TestSupport",
            dependencies: [
                "CTraylogCRC", "Traylog", "TraylogArchive", "TraylogClient", "TraylogDomain", "TraylogLMDB",
                "TraylogLog", "TraylogPlatform",
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "TraylogDomainTests", dependencies: ["TraylogJSON", "TestSupport", "TraylogDomain"],
            exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(
            name: "TraylogLMDBTests", dependencies: ["TestSupport", "TraylogLMDB", "TraylogPlatform"],
            swiftSettings: strict),
        .testTarget(
            name: "TraylogCodecTests", dependencies: ["TestSupport", "TraylogCodec", "TraylogDomain"],
            exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(
            name: "TraylogAuditTests", dependencies: ["TraylogAudit", "TraylogEvidence"], swiftSettings: strict),
        .testTarget(
            name: "TraylogArchiveTests",
            dependencies: ["TestSupport", "TraylogArchive", "TraylogDomain", "TraylogLog"],
            swiftSettings: strict),
        .testTarget(
            name: "TraylogTests",
            dependencies: [
                "TraylogCLibrary", "TraylogChecks", "TraylogCodec", "TraylogEvidence", "TraylogJSON",
                "TraylogObservation", "TraylogQueries", "TraylogRewrite", "TraylogWriter", "TestSupport", "Traylog",
                "TraylogArchive", "TraylogAudit", "TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogFold",
                "TraylogFoundation", "TraylogPlatform", "TraylogStates", "TraylogTree", "traylog-cli",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TraylogClientTests",
            dependencies: [
                "TestSupport", "Traylog", "TraylogClient", "TraylogClientHTTP", "TraylogDomain", "TraylogJSON",
                "TraylogPlatform", "TraylogReplica",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ModelTests",
            dependencies: ["TestSupport", "Traylog", "TraylogDomain", "TraylogPlatform", "traylog-cli"],
            swiftSettings: strict),
        .executableTarget(
            name: "traylog-powercut", dependencies: ["TestSupport"], path: "Tests/PowerCut", swiftSettings: strict),
        .executableTarget(
            name: "traylog-torture", dependencies: ["TestSupport"], path: "Tests/Torture",
            exclude: ["faults.c", "kills.c"],
            swiftSettings: strict),
        .testTarget(
            name: "CrashTests",
            dependencies: [
                "TestSupport", "Traylog", "TraylogLMDB", "TraylogPlatform", "traylog-cli", "traylog-powercut",
                "traylog-torture",
            ],
            exclude: ["PowerCut/recorder.c"], swiftSettings: strict),
        .executableTarget(
            name: "traylog-damage", dependencies: ["TestSupport", "Traylog"], path: "Tests/Damage",
            swiftSettings: strict),
        .testTarget(
            name: "FaultTests", dependencies: ["TestSupport", "traylog-cli", "traylog-damage"], swiftSettings: strict),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "TerminalText", "TraylogCLibrary", "TraylogChecks", "TraylogJSON", "TraylogQueries",
                "TestSupport", "Traylog", "TraylogArchive", "traylog-cli",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["Snapshots"],
            swiftSettings: strict),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "TraylogChecks", "TraylogCodec", "TraylogEvidence", "TraylogJSON", "TraylogRewrite", "TestSupport",
                "Traylog", "TraylogClient", "TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogReplica",
                "TraylogStates",
            ],
            exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "CompatibilityTests",
            dependencies: [
                "TraylogArchive", "TraylogChecks", "TraylogRewrite", "TestSupport", "Traylog", "TraylogStates",
                "TraylogDomain", "TraylogLMDB", "TraylogLog", "traylog-cli",
            ],
            exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "SampleTests", dependencies: ["Traylog", "TraylogFoundation"], packageAccess: false,
            swiftSettings: strict),
        .testTarget(
            name: "ClusterTests",
            dependencies: [
                "TestSupport", "Traylog", "TraylogCluster", "TraylogDomain", "TraylogLog", "TraylogPlatform",
            ],
            swiftSettings: strict),
        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "TestSupport", "Traylog", "TraylogAudit", "TraylogClient", "TraylogClientHTTP", "TraylogCluster",
                "TraylogFoundation", "traylog-cli",
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// The server: only where it is asked for, so that nobody who embeds the library resolves or builds any of it. Its targets share a
// package name of their own, so that they see no `package` declaration of the library: they stand on what every embedder has.
if Context.environment["TRAYLOG_BUILD_SERVER"] != nil {
    let strict = strict + [.unsafeFlags(["-package-name", "traylog_server"])]
    func server(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
        .target(
            name: name, dependencies: dependencies, path: "Tools/Server/Sources/\(name)", resources: resources,
            packageAccess: false, swiftSettings: strict)
    }
    let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
    let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
    let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
    let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
    let log = Target.Dependency.product(name: "Logging", package: "swift-log")
    let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
    let requests = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")

    package.dependencies += [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ]
    package.targets += [
        server(
            "TraylogServer",
            [
                "Traylog", "TraylogCluster", "TraylogJSON", arguments, crypto, hummingbird, log, metrics, nio, requests,
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "NIOCertificateReloading", package: "swift-nio-extras"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("Bell"), .embedInCode("OpenAPI/schemas.json")]),
        server(
            "TraylogServerConsole",
            [
                "TraylogServer", "Traylog", hummingbird, crypto, nio,
                .product(name: "Mustache", package: "swift-mustache"),
            ],
            resources: [.embedInCode("Assets")]),
        server("TraylogServerAPNs", ["TraylogServer", "Traylog", "TraylogJSON", hummingbird]),
        .systemLibrary(
            name: "CNats", path: "Tools/Server/Sources/CNats", pkgConfig: "libnats",
            providers: [.apt(["libnats-dev"])]),
        server(
            "TraylogServerCluster",
            [
                "TraylogServer", "Traylog", "TraylogCluster", "TraylogJSON", "CNats", hummingbird, arguments, requests,
                crypto, nio,
            ]),
        server(
            "TraylogServerNovu", ["TraylogServer", "Traylog", "TraylogJSON", hummingbird, crypto],
            resources: [.embedInCode("novu-schemas.json")]),
        .executableTarget(
            name: "traylog-server",
            dependencies: [
                "TraylogServer", "TraylogServerAPNs", "TraylogServerCluster", "TraylogServerConsole",
                "TraylogServerNovu", arguments, log,
            ],
            path: "Tools/Server/Sources/traylog-server", packageAccess: false,
            swiftSettings: strict + [.define("APNS"), .define("CLUSTER"), .define("NOVU")]),
        .testTarget(
            name: "TraylogServerTests",
            dependencies: [
                "TraylogServer", "TraylogServerAPNs", "TraylogServerCluster", "TraylogServerConsole",
                "TraylogServerNovu", "Traylog", "TraylogCluster", hummingbird, crypto, log, metrics, nio,
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ],
            path: "Tools/Server/Tests/TraylogServerTests", packageAccess: false, swiftSettings: strict),
    ]
}
