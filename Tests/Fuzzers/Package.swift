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
        .systemLibrary(name: "CTraylogSystem"),
        .target(name: "CTraylogCRC"),
        .target(name: "TraylogDomain"),
        .target(name: "TraylogJSON", dependencies: ["TraylogDomain"]),
        .target(name: "TraylogReplica", dependencies: ["TraylogDomain", "TraylogJSON"]),
        .target(name: "TraylogCLibrary"),
        .target(name: "TraylogPlatform", dependencies: ["CTraylogSystem", "TraylogCLibrary"]),
        .target(name: "TraylogLMDB", dependencies: ["CTraylogCRC", "CTraylogLMDB", "TraylogPlatform"]),
        .target(name: "TraylogCodec", dependencies: ["CTraylogCRC", "TraylogDomain"]),
        .target(
            name: "TraylogLog", dependencies: ["TraylogCodec", "TraylogDomain", "TraylogLMDB", "TraylogPlatform"]),
        .target(
            name: "TraylogArchive",
            dependencies: ["CTraylogZstd", "TraylogAudit", "TraylogDomain", "TraylogLog", "TraylogPlatform"]),
        .target(name: "TraylogAudit", dependencies: ["CTraylogCrypto"]),
        .target(
            name: "TraylogEvidence", dependencies: ["TraylogAudit", "TraylogCodec", "TraylogDomain", "TraylogJSON"]),
        .target(
            name: "TraylogStates",
            dependencies: [
                "TraylogArchive", "TraylogDomain", "TraylogJSON", "TraylogLMDB", "TraylogLog", "TraylogPlatform",
            ]),
        .target(
            name: "TraylogFold",
            dependencies: [
                "TraylogDomain", "TraylogLog", "TraylogLMDB", "TraylogPlatform", "TraylogReplica", "TraylogStates",
            ]),
        .target(
            name: "TraylogTree",
            dependencies: [
                "TraylogAudit", "TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogPlatform", "TraylogStates",
            ]),
        .target(
            name: "TraylogQueries",
            dependencies: [
                "TraylogDomain", "TraylogFold", "TraylogJSON", "TraylogLMDB", "TraylogLog", "TraylogPlatform",
                "TraylogReplica", "TraylogStates", "TraylogTree",
            ]),
        .target(
            name: "TraylogWriter",
            dependencies: [
                "TraylogDomain", "TraylogFold", "TraylogJSON", "TraylogLMDB", "TraylogLog", "TraylogPlatform",
                "TraylogQueries", "TraylogStates",
            ]),
        .target(
            name: "TraylogObservation",
            dependencies: [
                "TraylogDomain", "TraylogLMDB", "TraylogLog", "TraylogPlatform", "TraylogQueries", "TraylogStates",
                "TraylogWriter",
            ]),
        .target(
            name: "TraylogChecks",
            dependencies: [
                "TraylogArchive", "TraylogAudit", "TraylogDomain", "TraylogEvidence", "TraylogFold", "TraylogJSON",
                "TraylogLMDB", "TraylogLog", "TraylogPlatform", "TraylogQueries", "TraylogStates", "TraylogTree",
            ]),
        .target(
            name: "TraylogRewrite",
            dependencies: [
                "TraylogArchive", "TraylogAudit", "TraylogChecks", "TraylogDomain", "TraylogFold", "TraylogJSON",
                "TraylogLMDB", "TraylogLog", "TraylogPlatform", "TraylogQueries", "TraylogStates", "TraylogTree",
            ]),
        .target(
            name: "Traylog",
            dependencies: [
                "TraylogArchive", "TraylogAudit", "TraylogChecks", "TraylogDomain", "TraylogEvidence", "TraylogFold",
                "TraylogJSON", "TraylogLMDB", "TraylogLog", "TraylogObservation", "TraylogPlatform", "TraylogQueries",
                "TraylogReplica", "TraylogRewrite", "TraylogStates", "TraylogTree", "TraylogWriter",
            ]),
        .target(
            name: "TraylogClient",
            dependencies: [
                "TraylogAudit", "TraylogDomain", "TraylogJSON", "TraylogLMDB", "TraylogPlatform", "TraylogReplica",
            ]),
        .target(
            name: "TestSupport",
            dependencies: [
                "CTraylogCRC", "Traylog", "TraylogArchive", "TraylogClient", "TraylogDomain", "TraylogLMDB",
                "TraylogLog", "TraylogPlatform",
            ]),
        .executableTarget(
            name: "traylog-fuzz", dependencies: ["Traylog", "TraylogClient", "TestSupport"],
            path: "Sources/TraylogFuzz",
            // The fuzzer brings the main function.
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]),
    ],
    swiftLanguageModes: [.v6]
)
