import TraylogDomain
import TraylogLMDB
import TraylogPlatform

/// Copies the readable rows of a damaged outbox to a new file, and keeps the damaged one beside it.
///
/// Each row has a checksum of itself and of its place, so a page can be trusted without the tree. Pages of older commits
/// hold rows that were removed since: entries that the user discarded, or that were sent long ago. So no entry found this way
/// is sent by itself; it is listed as failed, and the user decides.
struct OutboxSalvage {
    /// The directory of the outbox.
    let path: String

    private var next: String { path + ".new" }
    private static let keptName = ".damaged-"
    static let code = "damaged"

    /// Takes the place of the outbox, where a process was killed between two renames.
    func resume() {
        if !Files.exists(path), Files.exists(next) { try? Files.rename(next, to: path) }
    }

    /// A text for each damaged outbox that is kept.
    var kept: [String] {
        let names = (try? Files.names(in: Files.parent(of: path))) ?? []
        let prefix = (path.split(separator: "/").last.map(String.init) ?? "") + Self.keptName
        return names.filter { $0.hasPrefix(prefix) }.sorted().map { Self.text(Files.parent(of: path) + "/" + $0) }
    }

    private static func text(_ path: String) -> String {
        "The outbox was damaged. What was found in it is listed as failed: resend or discard it. The damaged file is kept: "
            + "remove \(path) when nothing is missing."
    }

    /// Makes a new outbox of the rows that can be read.
    ///
    /// The damaged one is there, under one of the two names, whenever the process is killed.
    func run(_ open: (String) throws(DeviceFailure) -> Environment) throws(DeviceFailure) {
        Files.removeTree(next)
        let target = try place()
        let rows = try rows(keptAt: target)
        let environment = try open(next)
        defer { environment.close() }
        do {
            try environment.write { transaction in
                let table = environment.database(DeviceTable.outbox.rawValue)
                for row in rows { unsafe try transaction.put(table, row.key, row.value.span.bytes) }
            }
            environment.close()
            try Files.rename(path, to: target)
            try Files.publish(next, as: path)
        } catch let error as LMDBError {
            throw DeviceFailure(error)
        } catch {
            throw DeviceFailure(.inputOutput, "\(path) is damaged, and could not be renamed to \(target): \(error)")
        }
    }

    /// A name for the damaged directory that is not taken.
    private func place() throws(DeviceFailure) -> String {
        for number in 1..<100 {
            let name = path + Self.keptName + "\(number)"
            if !Files.exists(name) { return name }
        }
        throw DeviceFailure(
            .damaged, "\(path) is damaged, and 99 damaged ones are kept beside it: remove some of them.")
    }

    /// The rows of all pages, sealed, and an event for each entry that is not over.
    private func rows(keptAt target: String) throws(DeviceFailure) -> [DeviceRow] {
        var found: [UInt64: [UInt8]] = [:]
        do {
            for name in try Files.names(in: path).sorted() {
                let directory = "\(path)/\(name)"
                guard Files.exists("\(directory)/\(Environment.dataName)") else { continue }
                try scan(directory, &found)
            }
        } catch {
            throw DeviceFailure(.inputOutput, "\(path) is damaged, and cannot be read: \(error)")
        }
        var state = OutboxState()
        var rows: [DeviceRow] = []
        for (key, value) in found.sorted(by: { $0.key < $1.key }) {
            guard let event = try? OutboxEvent(value) else { continue }
            state.apply(event, row: key)
            rows.append(DeviceRow(key: key, value: CheckedStorage.seal(value, key, .outbox)))
        }
        var row = state.nextRow
        for entry in state.listed where !entry.isOver {
            let problem = OutboxEntry.Problem(code: Self.code, message: Self.text(target), isOutcomeUnknown: true)
            let event = OutboxEvent.failed(id: entry.id, attempts: entry.attempts, problem)
            rows.append(DeviceRow(key: row, value: CheckedStorage.seal(event.bytes, row, .outbox)))
            row += 1
        }
        return rows
    }

    private func scan(_ directory: String, _ found: inout [UInt64: [UInt8]]) throws {
        let file = try FileDescriptor(opening: "\(directory)/\(Environment.dataName)", .reading)
        defer { file.close() }
        let scan = LeafScan(file, journal: "\(directory)/\(Environment.journalName)")
        try scan.forEachEntry { page, entry in
            guard entry.key.count == 8 else { return }
            let number = LMDBStorage.number(page.extracting(entry.key))
            let value: [UInt8]
            if let count = entry.largeByteCount {
                guard count <= Self.rowLimit else { return }
                value = try scan.bytes(at: entry.place, count: count)
            } else {
                value = LMDBStorage.bytes(page.extracting(entry.value))
            }
            guard number > 0, number < 1 << 60,
                let row = try? CheckedStorage.open(value, number, .outbox)
            else { return }
            found[number] = row
        }
    }

    /// More than any row has.
    private static let rowLimit = 64 << 20
}
