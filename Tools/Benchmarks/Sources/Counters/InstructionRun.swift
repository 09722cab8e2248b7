import Foundation
@_spi(Operations) import Traylog

/// The same work in the same store, whose instructions valgrind counts: another load or another machine does not change them.
///
/// Instructions of the calling thread count, and those of the C library and of LMDB in it; the system's do not.
enum InstructionCase: String, CaseIterable {
    case batch = "batch of 1,000"
    case append, keyed = "append with a key"
    case badge, page = "page of 20", deepPage = "deep page of 20"
    case mark, undo
    case past = "tray of a past moment"
    case opening
    case replay = "replayed event"

    /// Its name among the counts.
    var name: String { rawValue + InstructionCase.suffix }

    /// How names of such counts end.
    static let suffix = ": instructions"
}

/// The body that ``countedByValgrind()`` runs, and its error.
// Sound: the process has one case, which its main thread sets and runs.
private nonisolated(unsafe) var counted: () throws -> Void = {}
// Sound: as above.
private nonisolated(unsafe) var failure: (any Error)?

/// Valgrind counts while this function runs: it finds it by its name.
@inline(never)
private func countedByValgrind() {
    do { unsafe try counted() } catch { unsafe failure = error }
}

/// A process that makes the store, and one for each case that runs in a copy of it.
struct InstructionRun {
    private static let users = 500
    private static let queries = 200
    /// The user with many items.
    private static let heavy = Workload.user(0)

    let directory: String

    private var options: StoreOptions {
        var options = StoreOptions()
        // More address space than valgrind has to give is the default.
        options.mapSizeBytes = 4 << 30
        return options
    }

    /// Makes the store: each user has some 40 items, and one has 10,000 more.
    func prepare() throws {
        let store = try Store.open(directory, options: options).blocking
        var workload = Workload(users: Self.users, .uniform)
        for batch in workload.batches(20_000, size: CasePlan.batch) { _ = try store.perform(batch) }
        for batch in workload.batches(10_000, size: CasePlan.batch) {
            _ = try store.perform(
                batch.map { command in
                    var command = command
                    command.user = Self.heavy
                    return command
                })
        }
        store.close()
    }

    /// Runs the case.
    ///
    /// - Returns: how many times it did the work.
    func run(_ instructions: InstructionCase) throws -> Int {
        if instructions == .opening { return try open() }
        let store = try Store.open(directory, options: options).blocking
        defer { store.close() }
        var workload = Workload(users: Self.users, .uniform)
        let users = (0..<Self.users).map(Workload.user)
        // States are in memory from the first look on, and the first commits check what later ones trust.
        for user in users { _ = (try store.tray(of: user), try store.inbox(of: user)) }
        for command in workload.commands(20) { _ = try store.perform(command) }
        switch instructions {
        case .batch:
            let batches = workload.batches(5 * CasePlan.batch, size: CasePlan.batch)
            return try count(batches) { _ = try store.perform($0) }
        case .append: return try count(workload.commands(Self.queries)) { _ = try store.perform($0) }
        case .keyed:
            let commands = workload.commands(Self.queries).enumerated().map { index, command in
                var command = command
                command.key = "key-\(index)"
                return command
            }
            return try count(commands) { _ = try store.perform($0) }
        case .badge: return try count(users) { _ = try store.tray(of: $0) }
        case .page: return try count(users) { _ = try store.inbox(of: $0) }
        case .deepPage:
            return try count(try deepCursors(store)) { _ = try store.inbox(of: Self.heavy, InboxQuery(cursor: $0)) }
        case .mark: return try count(try marks(store, users)) { _ = try store.perform($0) }
        case .undo:
            let undos = try marks(store, users).map { mark in
                guard let event = try store.perform(mark).seq else { throw BenchError("a mark changed nothing") }
                return Command(user: mark.user, .undo(event: event))
            }
            return try count(undos) { _ = try store.perform($0) }
        case .past:
            let moment = Moment.seq(try store.seq(of: .seq(15_000)))
            return try count(users.prefix(Self.queries)) { _ = try store.tray(of: $0, asOf: moment) }
        case .replay:
            let events = Int(UInt64(try store.head()))
            _ = try count([0]) { _ in _ = try store.replay() }
            return events
        case .opening: return 0
        }
    }

    private func open() throws -> Int {
        // A copy of a store becomes a store of its own when it is opened for the first time.
        try Store.open(directory, options: options).blocking.close()
        return try count(0..<5) { _ in try Store.open(directory, options: options).blocking.close() }
    }

    /// Cursors far down in the inbox of the user with many items.
    private func deepCursors(_ store: BlockingStore) throws -> [Cursor] {
        var query = InboxQuery(limit: 100)
        var cursors: [Cursor] = []
        while let next = try store.inbox(of: Self.heavy, query).next {
            cursors.append(next)
            query.cursor = next
        }
        return cursors.suffix(20)
    }

    private func marks(_ store: BlockingStore, _ users: [String]) throws -> [Command] {
        try users.dropFirst().prefix(Self.queries).map { user in
            Command(user: user, .mark(.read, [.seq(try store.inbox(of: user).elements[3].seq)]))
        }
    }

    private func count<Work: Collection>(_ works: Work, _ body: (Work.Element) throws -> Void) throws -> Int {
        withoutActuallyEscaping(body) { body in
            unsafe counted = { for work in works { try body(work) } }
            countedByValgrind()
            unsafe counted = {}
        }
        if let failure = unsafe failure { throw failure }
        return works.count
    }
}

extension InstructionRun {
    /// Counts all cases.
    ///
    /// - Parameter directory: where stores are made and removed.
    static func counts(in directory: RunDirectory) throws -> Figures {
        // Valgrind gives up where it does not understand the debugger's information; it needs the names of functions alone.
        let program = directory.kept("traylog-bench")
        try Program(
            path: "/usr/bin/env",
            arguments: ["strip", "--strip-debug", "-o", program, Bundle.main.executablePath ?? ""]
        ).run()
        let prepared = directory.kept("prepared")
        let copy = directory.kept("copy")
        let output = directory.kept("callgrind")
        try Program(path: program, arguments: ["count", "--preparing", prepared]).run()
        var counts: [String: Double] = [:]
        for instructions in InstructionCase.allCases {
            try FileManager.default.copyItem(atPath: prepared, toPath: copy)
            defer { try? FileManager.default.removeItem(atPath: copy) }
            let valgrind = Program(
                path: "/usr/bin/env",
                arguments: [
                    "valgrind", "--quiet", "--tool=callgrind", "--callgrind-out-file=\(output)",
                    "--toggle-collect=*countedByValgrind*", program, "count", "--counting", copy, "--case",
                    instructions.rawValue,
                ],
                environment: ["SWIFT_DETERMINISTIC_HASHING": "1"])
            let times = try valgrind.measure().values["times"] ?? 0
            let all = try total(output)
            guard times > 0, all > 0 else { throw BenchError("nothing was counted of \(instructions.name)") }
            counts[instructions.name] = all / times
        }
        return Figures(counts)
    }

    private static func total(_ output: String) throws -> Double {
        let lines = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
        return lines.last { $0.hasPrefix("totals: ") }.flatMap { Double($0.dropFirst("totals: ".count)) } ?? 0
    }
}
