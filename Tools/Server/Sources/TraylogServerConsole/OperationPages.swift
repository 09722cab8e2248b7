import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogServer

/// What an operator does to the whole store: compaction, erasure, replay, verification, backup.
enum OperationPages {
    /// Of its forms.
    private static let fields = ["before", "keepDays", "user", "confirm", "archive", "directory"]

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/operations", .key(.admin), query: ["erase"], shows: .persons) { visit in
                let user = visit.query["erase"]?.trimmingSpaces ?? ""
                guard !user.isEmpty else { return visit.page("Operations", try await overview(visit, TypedFields())) }
                let page = try await overview(
                    visit, TypedFields(values: ["erase": user, "user": user]), try await preview(user, visit))
                return visit.page("Operations", page)
            },
            ConsolePage(.get, "/findings", .key(.audit)) { visit in
                let health = await visit.service.health()
                let page = FindingsPage(
                    next: next(health, visit), verified: health.upkeep.lastVerification?.time,
                    isSound: health.findings.isEmpty,
                    checks: health.upkeep.failures.map { failure in
                        let unnamed = failure.count - failure.findings.count
                        return FindingsPage.Check(
                            name: failure.check.title, count: Figures.count(failure.count), time: failure.time,
                            findings: failure.findings.map(Finding.init),
                            unnamed: unnamed > 0 ? Figures.count(unnamed) : nil)
                    }, others: HealthLine.all(health))
                return visit.page("Findings", page)
            },
            ConsolePage(.post, "/operations/{id}", .key(.admin), form: fields) { visit in
                let fields = try await visit.form()
                do {
                    return try await start(visit, fields)
                } catch {
                    // The confirmation of a dry run has a page of its own.
                    let isConfirmation = visit.segment("id") == "compactions" && fields["confirm"] != nil
                    guard !isConfirmation, let refused = visit.refused(error, typed: fields, fields: Self.fields)
                    else { throw error }
                    return visit.page("Operations", try await overview(visit, refused), refused.status)
                }
            },
            ConsolePage(.get, "/operations/{id}", .key(.admin)) { visit in
                guard let job = visit.service.jobs.find(visit.segment("id")) else {
                    throw Problem(
                        .notFound, "Not found",
                        "there is no such run: runs are listed as long as the server runs, the last thousand of them")
                }
                let page = RunPage(job)
                return visit.page(page.run.name, page)
            },
        ]
    }

    /// The commands that the findings lead to; only operators may know where the server keeps its files.
    private static func next(_ health: StoreHealth, _ visit: Visit) -> [NextStep] {
        visit.may(.admin) ? health.nextSteps(store: visit.store.path) : []
    }

    private static func overview(
        _ visit: Visit, _ typed: TypedFields, _ preview: OperationsPage.Preview? = nil
    ) async throws -> OperationsPage {
        let statistics = try await visit.store.upkeep.statistics(checkingStates: false)
        return OperationsPage(
            head: statistics.head, floor: max(statistics.floor, 1), bytes: Figures.bytes(statistics.bytes),
            free: Figures.bytes(statistics.freeBytes),
            holds: (await visit.service.holds.latest()?.events ?? []).map(Hold.init),
            runs: visit.service.jobs.all.prefix(50).map(Run.init), preview: preview, directory: typed["directory"],
            before: typed["before"], keepDays: typed["keepDays"], erase: typed["erase"], user: typed["user"],
            confirm: typed["confirm"], archive: typed["archive"])
    }

    /// What an erasure of a person would reach.
    private static func preview(_ user: String, _ visit: Visit) async throws -> OperationsPage.Preview {
        let store = visit.store
        let known = try await store.users(prefix: user, limit: 1).elements.first
        guard known.map({ $0.utf8.elementsEqual(user.utf8) }) == true else {
            return OperationsPage.Preview(user: Name(user))
        }
        try await visit.reader().record(persons: [user])
        let tray = try await store.tray(of: user)
        let hold = try await visit.service.holds.hold(of: user)
        return OperationsPage.Preview(
            user: Name(user),
            known: OperationsPage.Preview.Known(
                actions: Figures.count(tray.revision, "event"), listed: Figures.count(tray.total, "listed item"),
                isHeld: hold != nil))
    }

    /// Starts what a form asks for, and goes to its run.
    private static func start(_ visit: Visit, _ fields: [String: String]) async throws -> Response {
        func text(_ name: String) -> JSONValue? {
            fields[name].flatMap { $0.trimmingSpaces.isEmpty ? nil : .string($0) }
        }
        let id: String
        switch visit.segment("id") {
        case "compactions": id = try await visit.start("compactions", compaction(fields, visit))
        case "erasures":
            id = try await visit.start(
                "erasures", [("user", text("user")), ("confirm", text("confirm")), ("archive", text("archive"))])
        case "replays": id = try await visit.start("replays", [])
        case "verifications": id = try await visit.start("verifications", [])
        case "backups":
            guard let directory = fields["directory"]?.trimmingSpaces, directory.hasPrefix("/") else {
                throw Problem.invalid("directory", "must be an absolute path, such as /srv/backups/2026-11-22")
            }
            id = try await visit.start("backups", [("dest", .string(directory))])
        default: throw Problem(.notFound, "Not found", "there is no such operation")
        }
        return .seeOther("\(visit.site)/operations/\(id)")
    }

    /// A dry run, or with the floor typed again the compaction that a dry run has shown.
    private static func compaction(_ fields: [String: String], _ visit: Visit) throws -> [(
        name: String, value: JSONValue?
    )] {
        let archive = fields["archive"].flatMap { $0.trimmingSpaces.isEmpty ? nil : JSONValue.string($0) }
        if let confirm = fields["confirm"] {
            guard let floor = fields["before"].flatMap({ Seq($0) }), confirm.trimmingSpaces == "\(floor)" else {
                throw Problem.invalid(
                    "confirm", "must be the floor's number again: what leaves the log does not come back")
            }
            // The dry run has shown what becomes of the file.
            return [("before", JSONValue(floor)), ("archive", archive), ("evenIfLarger", true)]
        }
        let before = (fields["before"] ?? "").trimmingSpaces
        var members: [(name: String, value: JSONValue?)] = [("dryRun", true), ("archive", archive)]
        let days = (fields["keepDays"] ?? "").trimmingSpaces
        switch (before.isEmpty, days.isEmpty) {
        case (true, true): throw Problem.invalid("before", "is missing: give an event, a time, or a number of days")
        case (false, false): throw Problem.invalid("keepDays", "cannot be combined with a start: give one of them")
        case (true, false):
            guard let count = TypedTime.number(days)?.within(AdminRoutes.keepDays) else {
                throw Problem.invalid("keepDays", "must be a number of days")
            }
            members.append(("keepDays", .int(count)))
        case (false, true):
            switch visit.typed.moment(before) {
            case .seq(let seq)?: members.append(("before", JSONValue(seq)))
            case .time(let time)?: members.append(("before", .string(time.description)))
            case nil: throw Problem.invalid("before", "must be \(TypedTime.forms)")
            }
        }
        return members
    }
}

struct OperationsPage: PageContent {
    static let template = PageTemplate.operations

    /// What an erasure of a person would reach.
    struct Preview {
        struct Known {
            let actions, listed: String
            let isHeld: Bool
        }

        let user: Name
        /// Nil for a name that no user has.
        var known: Known?
    }

    let head, floor: Seq
    let bytes, free: String
    let holds: [Hold]
    let runs: [Run]
    let preview: Preview?
    let directory, before, keepDays, erase, user, confirm, archive: TypedFields.Field
}

/// What is wrong with the store, and what to do.
struct FindingsPage: PageContent {
    static let template = PageTemplate.findings

    struct Check {
        let name, count: String
        let time: Timestamp?
        let findings: [Finding]
        /// How many more were found.
        let unnamed: String?
    }

    /// The commands that help; empty for a visitor who is not an operator.
    let next: [NextStep]
    let verified: Timestamp?
    let isSound: Bool
    /// Those that found something.
    let checks: [Check]
    /// What is wrong besides.
    let others: [HealthLine]
}

/// One thing that is wrong with the store, in a line.
///
/// Failed checks are not among them: every page has a banner for those.
struct HealthLine {
    let isBad: Bool
    let finding: Finding
    /// Whether the page of findings says what to do.
    let isFinding: Bool

    static func all(_ health: StoreHealth) -> [HealthLine] {
        health.findings.filter { $0.problem != .check }.map { finding in
            // Why a store cannot be read may name its files.
            let text =
                finding.problem == .store ? "The store cannot be read: see the server's log." : finding.message
            return HealthLine(text, isBad: finding.severity == .problem, isFinding: true)
        }
    }

    init(_ text: String, isBad: Bool, isFinding: Bool = false) {
        (self.isBad, self.isFinding) = (isBad, isFinding)
        finding = Finding(text.prefix(1).uppercased() + text.dropFirst())
    }
}

extension UpkeepRecord.Check {
    /// Its name in front of what it found.
    var title: String {
        switch self {
        case .verification: "Verification"
        case .replay: "Replay"
        case .reading: "Reading"
        case .witness: "A witness"
        }
    }
}

/// A finding, with links to the events that it names, and its commands without their backticks.
struct Finding {
    struct Part {
        let text: String
        let isCode: Bool
        let event: String?
    }

    let parts: [Part]

    init(_ text: String) {
        let pieces = text.split(separator: "`", omittingEmptySubsequences: false)
        parts = zip(pieces.indices, pieces).flatMap { index, piece in
            index.isMultiple(of: 2)
                ? Self.words(String(piece)) : [Part(text: String(piece), isCode: true, event: nil)]
        }
    }

    var json: JSONValue {
        .array(parts.map { ["text": .string($0.text + ($0.event ?? "")), "code": .bool($0.isCode)] })
    }

    private static func words(_ text: String) -> [Part] {
        var parts: [Part] = []
        var plain = ""
        var words = text.split(separator: " ", omittingEmptySubsequences: false)[...]
        while let word = words.popFirst() {
            let digits = word.prefix { "0"..."9" ~= $0 }
            let isEvent = plain.hasSuffix("event ") || plain.hasSuffix("events ") || plain.hasSuffix(" to ")
            if isEvent, !digits.isEmpty, UInt64(digits) != nil {
                parts.append(Part(text: plain, isCode: false, event: String(digits)))
                plain = String(word.dropFirst(digits.count))
            } else {
                plain += word
            }
            if !words.isEmpty { plain += " " }
        }
        return parts + [Part(text: plain, isCode: false, event: nil)]
    }
}

/// A run of an operation, with what came of it.
struct RunPage: PageContent {
    static let template = PageTemplate.run

    let run: Run
    let sentence: String?
    let findings: [Finding]
    let isDifferent: Bool
    let outcome: [Runs.Figure]
    /// Of a dry run that found something: the floor, for the form that does it.
    let floor: String?

    init(_ job: Jobs.Job) {
        let outcome = Runs.outcome(job)
        run = Run(job)
        sentence = Runs.sentence(job)
        findings = (outcome?["findings"]?.array ?? []).compactMap(\.string).map(Finding.init)
        isDifferent = outcome?["identical"]?.bool == false
        self.outcome = Runs.figures(job)
        let isDone = job.kind == "compactions" && job.state == "done" && Runs.isDryRun(job)
        floor = isDone ? (outcome?["floor"]?.integer).map { "\($0)" } : nil
    }
}

/// A run of an operation.
struct Run {
    let id, name, by, took, state, stateText: String
    let startedAt: Timestamp
    let isRunning, isDone, isFailed, isSound: Bool

    init(_ job: Jobs.Job) {
        let outcome = Runs.outcome(job)
        let took = (job.endedAt ?? .now).milliseconds - job.startedAt.milliseconds
        (id, by, state, stateText) = (job.id, job.by, job.state, Runs.state(job))
        name = Runs.name(job) + (Runs.isDryRun(job) ? ", dry run" : "")
        (startedAt, self.took) = (job.startedAt, "\(Double(max(0, took) / 100) / 10) s")
        (isRunning, isDone, isFailed) = (job.state == "running", job.state == "done", job.state == "failed")
        isSound = isDone && outcome?["identical"]?.bool != false && outcome?["ok"]?.bool != false
    }
}

/// Runs of operations as pages show them.
enum Runs {
    private static let names = [
        "compactions": "Compaction", "erasures": "Erasure", "replays": "Replay", "verifications": "Verification",
        "backups": "Backup", "ticks": "Tick",
    ]

    static func name(_ job: Jobs.Job) -> String { names[job.kind] ?? job.kind }

    /// How a run stands, in words.
    static func state(_ job: Jobs.Job) -> String {
        guard job.state == "done" else { return job.state }
        if let findings = outcome(job)?["findings"]?.array {
            return findings.isEmpty
                ? "no problems found" : findings.count == 1 ? "1 finding" : "\(Figures.count(findings.count)) findings"
        }
        if let isSame = outcome(job)?["identical"]?.bool { return isSame ? "no problems found" : "a difference found" }
        return job.state
    }

    /// What came of a run, in a sentence; nil where the figures say it.
    static func sentence(_ job: Jobs.Job) -> String? {
        guard job.state == "done", let outcome = outcome(job) else { return nil }
        func number(_ name: String) -> String { (outcome[name]?.integer).map(Figures.count) ?? "–" }
        switch job.kind {
        case "erasures":
            guard let pseudonym = outcome["pseudonym"]?.string else { return nil }
            return "The person is erased: \(number("events")) events. What is left of them belongs to \(pseudonym) now."
        case "verifications" where outcome["findings"]?.array?.isEmpty ?? false:
            return "The store is sound. Every record, page and stored tray was read and compared with the log."
        case "replays" where outcome["identical"]?.bool ?? false:
            return "Every tray was rebuilt from the log, and each is the same as the stored one."
        default: return nil
        }
    }

    static func outcome(_ job: Jobs.Job) -> JSONValue? {
        guard case .object = job.outcome else { return try? JSONValue(json: job.outcome.bytes) }
        return job.outcome
    }

    static func isDryRun(_ job: Jobs.Job) -> Bool { outcome(job)?["dryRun"]?.bool ?? false }

    struct Figure {
        let name, value: String
    }

    /// The members of the outcome, in words.
    static func figures(_ job: Jobs.Job) -> [Figure] {
        guard case .object(let members)? = outcome(job) else { return [] }
        return members.filter { !["dryRun", "type", "status", "ok", "findings"].contains($0.name) }.map {
            member in
            let text =
                switch member.value {
                case .string(let text): text
                case .number(let digits) where isBytes(member.name): WireNumber(digits).map(Figures.bytes) ?? digits
                case .number(let digits): WireNumber(digits).map(Figures.count) ?? digits
                case .bool(let value): value ? "yes" : "no"
                case .array(let values) where values.isEmpty: "none"
                case .array(let values) where member.name == "tables": values.map(tableWords).joined(separator: "; ")
                case .object(let parts):
                    parts.map { part in
                        let name = EventKind(rawValue: part.name)?.title.lowercased() ?? words(part.name)
                        let number = part.value.integer.map(Figures.count)
                        return "\(name) \(number ?? String(decoding: part.value.bytes, as: UTF8.self))"
                    }.joined(separator: ", ")
                default: String(decoding: member.value.bytes, as: UTF8.self)
                }
            return Figure(name: words(member.name), value: text)
        }
    }

    private static func isBytes(_ name: String) -> Bool { name.hasPrefix("bytes") || name.hasPrefix("freeBytes") }

    /// A table of a compaction's outcome: `log 1.9 GB before, 1.8 GB after`.
    private static func tableWords(_ table: JSONValue) -> String {
        let sizes = ["bytesBefore", "bytesAfter"].map { (table[$0]?.integer).map(Figures.bytes) ?? "–" }
        return "\(table["name"]?.string ?? "") \(sizes[0]) before, \(sizes[1]) after"
    }

    /// `bytesBefore` as `bytes before`.
    private static func words(_ name: String) -> String {
        name.map { $0.isUppercase ? " \($0.lowercased())" : String($0) }.joined()
    }
}
