import HTTPTypes
import Hummingbird
import Traylog

/// What an operator does to the whole store: compaction, erasure, replay, verification, backup.
enum OperationPages {
    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/operations", .key(.admin)) { visit in
                visit.page("operations", "Operations", try await overview(visit))
            },
            ConsolePage(.post, "/operations/{id}", .key(.admin)) { visit in try await start(visit) },
            ConsolePage(.get, "/operations/{id}", .key(.admin)) { visit in
                guard let job = visit.service.jobs.find(visit.segment("id")) else {
                    throw Problem(
                        .notFound, "Not found",
                        "there is no such run: runs are listed as long as the server runs, the last thousand of them")
                }
                var context = Runs.context(job)
                context["section"] = "operations"
                context["confirm"] = try confirmation(job)
                return visit.page("run", context["name"] as? String ?? "Run", context)
            },
        ]
    }

    private static func overview(_ visit: Visit) async throws -> [String: Any] {
        let statistics = try await visit.store.statistics()
        return [
            "section": "operations", "head": statistics.head.description,
            "headText": Figures.count(statistics.head.rawValue),
            "floor": Figures.count(statistics.floor.rawValue), "bytes": Figures.bytes(statistics.bytes),
            "free": Figures.bytes(statistics.freeBytes),
            "mayVerify": true, "runs": visit.service.jobs.all.prefix(50).map(Runs.context),
            "hasRuns": !visit.service.jobs.all.isEmpty,
        ]
    }

    /// Starts what a form asks for, and goes to its run.
    private static func start(_ visit: Visit) async throws -> Response {
        let fields = try await visit.form()
        func text(_ name: String) -> JSONValue? {
            fields[name].flatMap { $0.trimmingSpaces.isEmpty ? nil : .string($0) }
        }
        let id: String
        switch visit.segment("id") {
        case "compactions": id = try await visit.start("compactions", compaction(fields))
        case "erasures":
            id = try await visit.start(
                "erasures", [("user", text("user")), ("confirm", text("confirm")), ("archive", text("archive"))])
        case "replays": id = try await visit.start("replays", [])
        case "verifications": id = try await visit.start("verifications", [])
        case "backups": id = try await visit.start("backups", [("dest", text("directory"))])
        default: throw Problem(.notFound, "Not found", "there is no such operation")
        }
        return .seeOther("\(visit.site)/operations/\(id)")
    }

    /// A dry run, or with the floor typed again the compaction that a dry run has shown.
    private static func compaction(_ fields: [String: String]) throws -> [(name: String, value: JSONValue?)] {
        let archive = fields["archive"].flatMap { $0.trimmingSpaces.isEmpty ? nil : JSONValue.string($0) }
        if let confirm = fields["confirm"] {
            guard let floor = fields["before"].flatMap({ UInt64($0) }), confirm.trimmingSpaces == "\(floor)" else {
                throw Problem.invalid(
                    "confirm", "must be the floor's number again: what leaves the log does not come back")
            }
            return [("before", .int(floor)), ("archive", archive)]
        }
        let before = (fields["before"] ?? "").trimmingSpaces
        var members: [(name: String, value: JSONValue?)] = [("dryRun", true), ("archive", archive)]
        if let days = fields["keepDays"].flatMap({ UInt64($0.trimmingSpaces) }), before.isEmpty {
            members.append(("keepDays", .int(days)))
        } else if let seq = UInt64(before) {
            members.append(("before", .int(seq)))
        } else {
            members.append(("before", .string(before)))
        }
        return members
    }

    /// Of a dry run that found something: the form that does it.
    private static func confirmation(_ job: Jobs.Job) throws -> [[String: Any]] {
        guard job.kind == "compactions", job.state == "done", Runs.isDryRun(job),
            let floor = Runs.outcome(job)?["floor"]?.integer
        else { return [] }
        return [["floor": "\(floor)"]]
    }
}

/// Runs of operations as pages show them.
enum Runs {
    private static let names = [
        "compactions": "Compaction", "erasures": "Erasure", "replays": "Replay", "verifications": "Verification",
        "backups": "Backup", "ticks": "Tick",
    ]

    static func context(_ job: Jobs.Job) -> [String: Any] {
        let name = names[job.kind] ?? job.kind
        let seconds = (job.endedAt ?? .now).milliseconds - job.startedAt.milliseconds
        return [
            "id": job.id, "name": isDryRun(job) ? "\(name), dry run" : name, "kind": job.kind, "by": job.by,
            "startedAt": Moments.context(job.startedAt), "took": "\(Double(max(0, seconds) / 100) / 10) s",
            "isRunning": job.state == "running", "isDone": job.state == "done", "isFailed": job.state == "failed",
            "state": job.state, "outcome": rows(job), "hasOutcome": !rows(job).isEmpty,
            "isSound": job.state == "done" && outcome(job)?["identical"]?.bool != false
                && outcome(job)?["ok"]?.bool != false,
        ]
    }

    static func outcome(_ job: Jobs.Job) -> JSONValue? {
        guard case .object = job.outcome else { return try? JSONParser.value(job.outcome.bytes) }
        return job.outcome
    }

    static func isDryRun(_ job: Jobs.Job) -> Bool { outcome(job)?["dryRun"]?.bool ?? false }

    /// The members of the outcome, in words.
    private static func rows(_ job: Jobs.Job) -> [[String: Any]] {
        guard case .object(let members)? = outcome(job) else { return [] }
        return members.filter { !["dryRun", "type", "status"].contains($0.name) }.map { member in
            let text =
                switch member.value {
                case .string(let text): text
                case .number(let digits) where isBytes(member.name): UInt64(digits).map(Figures.bytes) ?? digits
                case .number(let digits): UInt64(digits).map { Figures.count($0) } ?? digits
                case .bool(let value): value ? "yes" : "no"
                case .array(let values) where values.isEmpty: "none"
                case .array(let values) where member.name == "tables": values.map(tableWords).joined(separator: "; ")
                case .object(let parts):
                    parts.map { "\($0.name) \(String(decoding: $0.value.bytes, as: UTF8.self))" }.joined(
                        separator: ", ")
                default: String(decoding: member.value.bytes, as: UTF8.self)
                }
            return ["name": words(member.name), "value": text]
        }
    }

    private static func isBytes(_ name: String) -> Bool { name.hasPrefix("bytes") || name.hasPrefix("freeBytes") }

    /// A table of a compaction's outcome: `log 1.9 GB before, 1.8 GB after`.
    private static func tableWords(_ table: JSONValue) -> String {
        let sizes = ["bytesBefore", "bytesAfter"].map { Figures.bytes(table[$0]?.integer ?? 0) }
        return "\(table["name"]?.string ?? "") \(sizes[0]) before, \(sizes[1]) after"
    }

    /// `bytesBefore` as `bytes before`.
    private static func words(_ name: String) -> String {
        name.map { $0.isUppercase ? " \($0.lowercased())" : String($0) }.joined()
    }
}
