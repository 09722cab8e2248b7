import Foundation
import Traylog

/// The bytes that an event takes on disk in the end, states, names and free pages included.
struct BytesMeasure {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run() async throws -> Figures {
        _ = try await BulkMeasure(setup).run()
        let store = try StoreReader.open(setup.directory)
        let statistics = try await store.upkeep.statistics()
        await store.close()
        // A store of its own, of which nothing was compacted.
        let data = setup.directory + "/data-1/data.mdb"
        let attributes = try FileManager.default.attributesOfItem(atPath: data)
        guard let size = attributes[.size] as? NSNumber else { throw BenchError("the file has no size") }
        return Figures([
            "bytesPerEvent": size.doubleValue / Double(setup.events),
            "freeBytesPerEvent": Double(statistics.freeBytes) / Double(setup.events),
        ])
    }
}
