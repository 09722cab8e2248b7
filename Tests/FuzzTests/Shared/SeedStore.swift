import TestSupport
import TraylogDomain
import TraylogLMDB
import TraylogLog
@_spi(Operations) @testable import Traylog
@testable import TraylogStates

/// What a real store holds, as inputs for each target: valid encodings, from which fuzzing starts.
struct SeedStore {
    private(set) var seeds: [FuzzTarget: [[UInt8]]] = [:]

    /// - Parameter directory: of a store that does not exist yet.
    init(directory: String, seed: UInt64, steps: Int) throws {
        try fill(directory, seed: seed, steps: steps)
        try takeLines(directory)
        try takeRows(directory)
        let due = DueEntry(due: Timestamp(milliseconds: -1), item: 300, kind: .wake, stream: 7)
        seeds[.dueKey, default: []].append(due.key)
        add("c1-1", to: .cursor)
        add(Cursor(before: Seq(UInt64.max)).description, to: .cursor)
        add(Cursor(before: Seq(UInt64(steps))).description, to: .cursor)
        add(#"{"a":[1,-2.5e-3,true,null,"\u00e9\ud83d\ude00\\"],"b":{}}"#, to: .json)
        add(#" [ [ ] , { "c" : 1E+2 } , "x" ] "#, to: .json)
        makeStates()
    }

    private mutating func fill(_ directory: String, seed: UInt64, steps: Int) throws {
        var options = StoreOptions()
        options.ticking = .manual
        options.durability = .relaxed
        // Everything is stored soon, with landmarks and the pages that they need.
        options.tailEvents = 30
        options.landmarkDistance = 40
        let store = try Store.open(directory, options: options)
        defer { store.close() }
        var mix = HistoryMix.heavy.with(.all)
        mix.largePercent = 0
        var generator = HistoryGenerator(seed: seed, mix: mix)
        var naive = NaiveStore()
        for _ in 0..<steps {
            switch generator.next(given: naive) {
            case .tick(let time):
                naive.tick(time, now: generator.now)
                try store.advance(to: time)
            case .command(let command):
                _ = naive.perform(command, now: generator.now)
                _ = try store.submit([command], stopAtRefusal: false)
                add(command.jsonLine, to: .command)
            }
        }
    }

    private mutating func takeLines(_ directory: String) throws {
        let reader = try StoreReader.open(directory)
        defer { reader.close() }
        var export = try LogExport(of: reader, from: 1, through: nil)
        while let some = try export.take() {
            for line in some.bytes.split(separator: UInt8(ascii: "\n")) {
                seeds[.exportLine, default: []].append(Array(line))
            }
        }
        for event in try reader.events(from: 1, limit: .max).elements {
            var payload = [event.kind.code]
            PayloadEncoder.append(event, to: &payload)
            seeds[.payload, default: []].append(payload)
        }
        seeds.merge(DeviceOracle.seeds(try reader.events(from: 1, limit: .max).elements)) { $1 }
    }

    private mutating func takeRows(_ directory: String) throws {
        let environment = try Environment.open(directory: directory, access: .readOnly, databases: Tables.allNames)
        defer { environment.close() }
        for table in ["log", "states", "meta", "due"] {
            try environment.read { transaction in
                try transaction.withCursor(environment.database(table)) { cursor in
                    while try cursor.next() {
                        cursor.withEntry { key, value in take(Row(table: table, key: key, value: value)) }
                    }
                }
            }
        }
        let projection = ProjectionRecord(version: 3, position: 400, copy: 1, byteCount: 9_000, checksum: 1 << 31)
        var bytes: [UInt8] = []
        projection.pack(into: &bytes)
        seeds[.projectionRecord] = [bytes]
    }

    private mutating func take(_ row: Row) {
        switch (row.table, row.space) {
        case ("log", _): seeds[.record, default: []].append(row.value)
        case ("meta", _): seeds[.storeRecord, default: []].append(row.content)
        case ("states", 0), ("states", 0x40): seeds[.rootRow, default: []].append(row.content)
        case ("states", 1), ("states", 0x81): seeds[.itemPage, default: []].append(row.content)
        case ("states", 2): seeds[.eventPage, default: []].append(row.content)
        case ("states", _): seeds[.keyPage, default: []].append(row.content)
        case ("due", _): seeds[.dueKey, default: []].append(row.key)
        default: break
        }
    }

    /// Roots with pages that could be theirs, and scripts.
    private mutating func makeStates() {
        for row in seeds[.rootRow] ?? [] {
            var reader = PackedReader(row)
            guard let state = try? StoredState(from: &reader).state else { continue }
            var page: [UInt8] = []
            state.events.open.pack(into: &page)
            seeds[.eventPage, default: []].append(page)
            var keys = KeyIndex.Page(first: 0)
            keys.entries = state.keys.recent.sorted { ($0.key, $0.value) < ($1.key, $1.value) }
            page = []
            keys.pack(into: &page)
            seeds[.keyPage, default: []].append(page)
        }
        let pages = FuzzTarget.pagesOfStates.map { seeds[$0] ?? [] }
        for (index, row) in (seeds[.rootRow] ?? []).enumerated() {
            var reader = PackedReader(row)
            guard let state = try? StoredState(from: &reader).state else { continue }
            var root: [UInt8] = []
            state.pack(into: &root)
            var input = FuzzInput.piece(root)
            for rows in pages {
                for other in 0..<2 { input += FuzzInput.piece(rows.isEmpty ? [] : rows[(index + other) % rows.count]) }
            }
            var random = SeededRandom(seed: UInt64(index))
            input += FuzzInput.piece((0..<60).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            for _ in 0..<200 { input.append(UInt8(truncatingIfNeeded: random.next())) }
            seeds[.state, default: []].append(input)
        }
    }

    private mutating func add(_ text: String, to target: FuzzTarget) {
        seeds[target, default: []].append(Array(text.utf8))
    }
}

extension FuzzTarget {
    /// In the order in which an input of ``state`` has them.
    static let pagesOfStates: [FuzzTarget] = [.itemPage, .keyPage, .eventPage]
}

private struct Row {
    let table: String
    let key: [UInt8]
    let value: [UInt8]

    init(table: String, key: RawSpan, value: RawSpan) {
        self.table = table
        var bytes: [UInt8] = []
        bytes.append(copying: key)
        self.key = bytes
        bytes = []
        bytes.append(copying: value)
        self.value = bytes
    }

    /// The value without its checksum.
    var content: [UInt8] { Array(value.dropLast(Checked.checksumBytes)) }
    var space: UInt8 { key.count > 4 ? key[4] : 0xff }
}
