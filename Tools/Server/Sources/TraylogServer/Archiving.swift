import Foundation
@_spi(Operations) import Traylog

/// Archives the logs of a server's stores, as long as it runs.
struct Archiving: Sendable {
    private static let longestPause = Duration.seconds(60)

    private let stores: [Store]
    private let directory: String
    private let options: ArchiveOptions
    private let log: ServiceLog

    /// - Returns: nil for a server that archives nothing.
    init?(_ stores: [Store], _ configuration: ServerConfiguration, _ log: ServiceLog) {
        guard let directory = configuration.archive else { return nil }
        var options = ArchiveOptions()
        (options.ship, options.shipDelete) = (configuration.ship, configuration.shipDelete)
        (self.stores, self.directory, self.options, self.log) = (stores, directory, options, log)
    }

    /// Archives until the task is cancelled.
    ///
    /// What goes wrong is logged, and tried again: readiness, metrics and pages show how far the archive is behind.
    func run() async {
        await withTaskGroup { group in
            for (index, store) in stores.enumerated() {
                let place = stores.count == 1 ? directory : "\(directory)/partition-\(index)"
                group.addTask { await archive(store, to: place) }
            }
        }
    }

    private func archive(_ store: Store, to place: String) async {
        var backoff = Backoff(from: .seconds(1), to: Self.longestPause)
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                if stores.count > 1 {
                    try FileManager.default.createDirectory(
                        atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                }
                try await store.upkeep.archive(
                    to: place, options, onFile: { _ in },
                    onProblem: { [log] problem in
                        log.write([
                            ("archive", .string(place)),
                            problem.map { ("error", .string($0)) } ?? ("state", "it works again"),
                        ])
                    })
                // The store was closed.
                return
            } catch {
                guard !Task.isCancelled else { return }
                log.write([("archive", .string(place)), ("error", .string("\(error)"))])
            }
            if ContinuousClock.now - start > Self.longestPause { backoff.reset() }
            try? await Task.sleep(for: backoff.pause())
        }
    }
}
