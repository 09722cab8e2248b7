import Foundation

/// The names in a store's directory and what they lead to: of what no sync of the directory covers, each change by itself
/// may be on disk or not, in any order.
struct StoreNames: Sendable {
    private enum Change: Sendable {
        case folderMade(Int)
        case folderRenamed
        case folderRemoved(Int)
        case dataRemoved(Int)
        case journalMade(Int)
        case journalRemoved(Int)
        case switched(DiskFile, to: Int)
    }

    /// What is on disk for certain.
    private struct Names: Sendable {
        var folders: Set<Int> = []
        var removedData: Set<Int> = []
        var journals: Set<Int> = []
        var current: DiskFile?

        mutating func apply(_ change: Change) {
            switch change {
            case .folderMade(let number):
                folders.insert(number)
                removedData.remove(number)
            case .folderRenamed:
                folders.remove(0)
                folders.insert(1)
            case .folderRemoved(let number): folders.remove(number)
            case .dataRemoved(let number): removedData.insert(number)
            case .journalMade(let number): journals.insert(number)
            case .journalRemoved(let number): journals.remove(number)
            case .switched(let file, _): current = file
            }
        }
    }

    /// The data file of each environment, by its number.
    private(set) var data: [Int: DiskFile] = [:]
    private(set) var journals: [Int: DiskFile] = [:]
    private var next = DiskFile()
    private var kept = Names()
    private var pending: [(number: Int, change: Change)] = []
    /// The environment that `CURRENT` names for the recorded program.
    private(set) var inUse = 1

    subscript(file: RecordedEvent.File) -> DiskFile {
        get {
            switch file {
            case .data(let number): data[number] ?? DiskFile()
            case .journal(let number): journals[number] ?? DiskFile()
            default: next
            }
        }
        set {
            switch file {
            case .data(let number): data[number] = newValue
            case .journal(let number): journals[number] = newValue
            default: next = newValue
            }
        }
    }

    mutating func make(_ file: RecordedEvent.File, number: Int) {
        if case .journal(let environment) = file {
            journals[environment] = DiskFile()
            pending.append((number, .journalMade(environment)))
        }
        guard case .folder(let environment) = file else { return self[file].create() }
        data[environment] = DiskFile()
        pending.append((number, .folderMade(environment)))
    }

    mutating func rename(_ file: RecordedEvent.File, number: Int) throws {
        guard case .folder = file else {
            var random = SeededRandom(seed: 0)
            let text = String(decoding: next.cut(.everything, &random) ?? Data(), as: UTF8.self)
            guard let environment = Int(text.dropFirst(5).dropLast()) else {
                throw Malformed(byteCount: text.utf8.count)
            }
            pending.append((number, .switched(next, to: environment)))
            next = DiskFile()
            inUse = environment
            return
        }
        data[1] = data.removeValue(forKey: 0)
        pending.append((number, .folderRenamed))
    }

    mutating func remove(_ file: RecordedEvent.File, number: Int) {
        switch file {
        case .data(let environment): pending.append((number, .dataRemoved(environment)))
        case .journal(let environment): pending.append((number, .journalRemoved(environment)))
        case .folder(let environment): pending.append((number, .folderRemoved(environment)))
        default: next = DiskFile()
        }
    }

    /// - Parameter number: the number of the event with which the sync began.
    mutating func keepAll(before number: Int) {
        for change in pending where change.number < number { kept.apply(change.change) }
        pending.removeAll { $0.number < number }
    }

    /// The same for the directory of an environment, whose journal has a name of its own there.
    mutating func keepJournal(of environment: Int, before number: Int) {
        func isKept(_ pending: (number: Int, change: Change)) -> Bool {
            guard case .journalMade(environment) = pending.change else { return false }
            return pending.number < number
        }
        for change in pending where isKept(change) { kept.apply(change.change) }
        pending.removeAll(where: isKept)
    }

    /// Writes what a power cut may leave of the names and of the files.
    func cut(_ tear: Tear, into directory: String, _ random: inout SeededRandom) throws {
        var names = kept
        for (_, change) in pending where random.chance(50) { names.apply(change) }
        try names.current?.cut(tear, &random)?.write(to: URL(filePath: directory + "/CURRENT"))
        if next.isThere { try next.cut(tear, &random)?.write(to: URL(filePath: directory + "/CURRENT.new")) }
        for number in names.folders.sorted() {
            let folder = directory + (number == 0 ? "/data-1.new" : "/data-\(number)")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            // A renamed directory has the same files under either name.
            let file = data[number] ?? (number == 0 ? data[1] : nil)
            if !names.removedData.contains(number) {
                try file?.cut(tear, &random)?.write(to: URL(filePath: folder + "/data.mdb"))
            }
            if names.journals.contains(number) {
                try journals[number]?.cut(tear, &random)?.write(to: URL(filePath: folder + "/journal"))
            }
            guard random.chance(20) else { continue }
            let filler = UInt8(truncatingIfNeeded: random.next())
            try Data(repeating: filler, count: random.pick([0, 65_664])).write(to: URL(filePath: folder + "/lock.mdb"))
        }
    }
}
