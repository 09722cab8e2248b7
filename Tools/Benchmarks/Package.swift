// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who builds Traylog builds the benchmarks.
let package = Package(
    name: "traylog-benchmarks",
    dependencies: [
        .package(name: "traylog", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .executableTarget(
            name: "traylog-bench",
            dependencies: [
                .product(name: "Traylog", package: "traylog"),
                .product(name: "TraylogAudit", package: "traylog"),
                .product(name: "TraylogClient", package: "traylog"),
                .product(name: "TraylogCluster", package: "traylog"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources",
            swiftSettings: [.strictMemorySafety()]
                + (Context.environment["TRAYLOG_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])
        )
    ],
    swiftLanguageModes: [.v6]
)
