import Foundation

/// The files of a recorded store after some first part of the trace, and what a power cut would have to leave.
package struct SimulatedDisk: Sendable {
    private let fault: PlantedFault
    private let isRelaxed: Bool
    private var names = StoreNames()
    package private(set) var events = 0
    /// The program's acknowledgements.
    package private(set) var acknowledged: UInt64 = 0
    /// The part of it that was told before the last commit.
    private var beforeLastCommit: UInt64 = 0
    /// The part before each sync that did not end yet, by number, and before those that did.
    private var beforeSync: [Int: UInt64] = [:]
    private var synced: UInt64 = 0

    package init(isRelaxed: Bool, fault: PlantedFault = .none) {
        self.isRelaxed = isRelaxed
        self.fault = fault
    }

    /// The log must reach to this event: everything acknowledged, or in relaxed mode what was acknowledged before the
    /// last commit wrote its meta page, and before the last sync.
    package var requiredHead: UInt64 { isRelaxed ? max(beforeLastCommit, synced) : acknowledged }

    /// The data file that the recorded program used last, and its journal.
    package var data: DiskFile { names[.data(names.inUse)] }
    package var journal: DiskFile { names[.journal(names.inUse)] }

    package mutating func apply(_ event: RecordedEvent) throws {
        switch event {
        case .created(let file): names.make(file, number: events)
        case .truncated(let file, let bytes): names[file].truncate(to: bytes, number: events)
        case .written(let file, let offset, let bytes):
            names[file].write(fault.write(bytes, at: offset, to: file, names[file]), at: offset, number: events)
            if isInUse(file), isMetaPage(offset, bytes) { beforeLastCommit = acknowledged }
        case .writeSynced(let file, let write):
            if fault != .syncsIgnored || acknowledged == 0 { names[file].keepWrite(write) }
        case .syncBegun(let file): if isInUse(file) { beforeSync[events] = acknowledged }
        case .syncEnded(.storeFolder, let begin): names.keepAll(before: begin)
        case .syncEnded(.folder(let environment), let begin): names.keepJournal(of: environment, before: begin)
        case .syncEnded(let file, let begin):
            if let head = beforeSync.removeValue(forKey: begin) { synced = max(synced, head) }
            if acknowledged == 0 || fault.lets(syncOf: file) { names[file].keepAll(before: begin) }
        case .renamed(let file): try names.rename(file, number: events)
        case .removed(let file): names.remove(file, number: events)
        case .acknowledged(let head): acknowledged = max(acknowledged, head)
        }
        events += 1
    }

    /// Writes what a power cut now may leave to an empty directory.
    ///
    /// The other files are as they may be, too: lock files and `wake` are missing or hold anything.
    package func cut(_ tear: Tear, into directory: String, _ random: inout SeededRandom) throws {
        try names.cut(tear, into: directory, &random)
        for (name, size) in [("writer.lock", 60), ("wake", 8)] where random.chance(20) {
            let filler = UInt8(truncatingIfNeeded: random.next())
            try Data(repeating: filler, count: size).write(to: URL(filePath: directory + "/" + name))
        }
    }

    private func isInUse(_ file: RecordedEvent.File) -> Bool { file == .data(names.inUse) }

    /// A commit ends with its meta page, one of the first two; smaller writes there are notes.
    private func isMetaPage(_ offset: Int, _ bytes: Data) -> Bool {
        offset < 8_192 && (100..<4_096).contains(bytes.count)
    }
}
