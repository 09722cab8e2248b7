// swift-tools-version: 6.2
import PackageDescription

/// Every use of an unsafe construct must be acknowledged where it stands.
///
/// Warnings are errors where `TRAYLOG_STRICT` is set, as in the package above.
let strict: [SwiftSetting] =
    (Context.environment["TRAYLOG_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]) + [.strictMemorySafety()]

/// The experimental parts of the program: all, or those that `TRAYLOG_SERVER_PARTS` names, such as `apns,novu`; none if it is empty.
///
/// The package has no target for the others, so that nobody needs libnats who leaves out `cluster`.
let parts = Set(
    (Context.environment["TRAYLOG_SERVER_PARTS"] ?? "apns,cluster,novu").split(separator: ",").map(String.init))

/// The dependencies that all libraries have which a program passes to the server as a part.
let common: [Target.Dependency] = [
    "TraylogServer",
    .product(name: "Traylog", package: "traylog"),
    .product(name: "TraylogJSON", package: "traylog"),
    .product(name: "Hummingbird", package: "hummingbird"),
]

let experimental: [String: [Target]] = [
    "apns": [.target(name: "TraylogServerAPNs", dependencies: common, swiftSettings: strict)],
    "cluster": [
        .systemLibrary(name: "CNats", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .target(
            name: "TraylogServerCluster",
            dependencies: common + [
                "CNats",
                .product(name: "TraylogCluster", package: "traylog"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict),
    ],
    "novu": [
        .target(
            name: "TraylogServerNovu",
            dependencies: common + [.product(name: "Crypto", package: "swift-crypto")],
            resources: [.embedInCode("novu-schemas.json")], swiftSettings: strict)
    ],
]
let libraries = ["apns": "TraylogServerAPNs", "cluster": "TraylogServerCluster", "novu": "TraylogServerNovu"]
    .filter { parts.contains($0.key) }

// The server as a package of its own: for those who leave out experimental parts, and built by nightly runs to prove that the server
// stands on the library's public API. Everything else uses the package above with TRAYLOG_BUILD_SERVER, which has the same
// targets (Tools/manifests.py compares them), so that one build serves all tests.
let package = Package(
    name: "traylog-server",
    products: [.executable(name: "traylog-server", targets: ["traylog-server"])],
    dependencies: [
        .package(name: "traylog", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        .target(
            name: "TraylogServer",
            dependencies: [
                .product(name: "Traylog", package: "traylog"),
                .product(name: "TraylogCluster", package: "traylog"),
                .product(name: "TraylogJSON", package: "traylog"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOCertificateReloading", package: "swift-nio-extras"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            // The libraries carry their files; nothing is looked for beside them.
            resources: [.embedInCode("Bell"), .embedInCode("OpenAPI/schemas.json")],
            swiftSettings: strict),
        .target(
            name: "TraylogServerConsole",
            dependencies: [
                "TraylogServer",
                .product(name: "Traylog", package: "traylog"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Mustache", package: "swift-mustache"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            resources: [.embedInCode("Assets")], swiftSettings: strict),
        .executableTarget(
            name: "traylog-server",
            dependencies: [
                "TraylogServer", "TraylogServerConsole",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ] + libraries.values.sorted().map { .target(name: $0) },
            swiftSettings: strict + libraries.keys.sorted().map { .define($0.uppercased()) }),
        // What its answers are measured beside.
        .executableTarget(
            name: "constant-server",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
    ] + parts.sorted().flatMap { experimental[$0] ?? [] },
    swiftLanguageModes: [.v6]
)
