import HTTPTypes
import Hummingbird
@_spi(Replication) @_spi(Operations) @_spi(JSON) @_spi(Wire) import Traylog

/// The routes of operators.
package enum AdminRoutes {
    /// How many days back a compaction may be asked to keep events.
    package static let keepDays = 0...36_500

    static var all: [Route] { [compactions, erasures, replays, verifications, ticks, backups, job, stats] }

    private static var compactions: Route {
        let names = ["before", "keepDays", "archive", "dryRun", "evenIfLarger"]
        return job("compactions", "Compact the store", names) { members, call in
            let moment = try before(members)
            let archive = try text("archive", members)
            let (isDryRun, allowsLarger) = (try flag("dryRun", members), try flag("evenIfLarger", members))
            let name = call.callerName
            return { service, job in
                let report = try await service.store.upkeep.compact(
                    before: moment, archive: archive, isDryRun: isDryRun, onlyIfSmaller: !allowsLarger, actor: name,
                    progress: job.progress)
                return JSONValue(writing: { $0.write(report) })
            }
        }
    }

    private static func before(_ members: JSONValue) throws -> Moment {
        switch (members["before"], members["keepDays"]) {
        case (let before?, nil):
            if let number = before.integer { return .seq(number.seq) }
            return try Moment(parsing: before.string ?? "", field: "before")
        case (nil, let days?):
            guard let count = days.integer?.within(keepDays) else {
                throw Problem.invalid("keepDays", "must be a number of days")
            }
            return Moment.daysAgo(count)
        default:
            throw Problem.invalid("before", "one of before and keepDays must be given")
        }
    }

    private static var erasures: Route {
        job(
            "erasures", "Erase a person", ["user", "confirm", "archive"], required: ["user", "confirm"],
            partition: .split(isNameable: true) { try await $0.erasure($1, $2) }
        ) {
            members, call in
            guard let user = try text("user", members) else { throw Problem.invalid("user", "must be given") }
            // Refuses a wrong name before the job starts.
            _ = try await call.store.version(of: user)
            guard try text("confirm", members).map({ $0.utf8.elementsEqual(user.utf8) }) ?? false else {
                throw Problem.invalid("confirm", "must be the user's name again")
            }
            let (archive, name) = (try text("archive", members), call.callerName)
            return { service, job in
                let report = try await service.store.erase(user, actor: name, archives: archive, progress: job.progress)
                // Those who waited for the first event of the name have nothing else that ends them.
                service.answers.check()
                let outcome = JSONValue(writing: { $0.write(report) })
                try await service.devices.forget(user)
                if let cluster = service.cluster { try await cluster.finishErasure(job.id, outcome) }
                return outcome
            }
        }
    }

    private static var replays: Route {
        job("replays", "Fold the log anew and compare", ["rebuild"], node: .each) { members, _ in
            guard try !flag("rebuild", members) else {
                throw Problem.invalid(
                    "rebuild",
                    "needs a store that nobody else writes: stop the server, and run 'traylog replay --rebuild'")
            }
            return { service, job in
                let report = try await service.check(
                    .replay, head: { Seq($0.events) },
                    findings: { $0.identical ? [] : [$0.difference ?? "a stored state differs from the log"] }
                ) { try await service.store.replay(progress: job.progress) }
                return JSONValue(writing: { $0.write(report) })
            }
        }
    }

    private static var verifications: Route {
        job("verifications", "Check everything that can be checked", ["archive", "treeHead"], node: .each) {
            members, _ in
            let (archive, kept) = (try text("archive", members), try treeHead(members))
            return { service, job in
                let report = try await service.check(
                    .verification, head: { Seq($0.events) }, findings: \.findings
                ) {
                    var report = try await service.store.upkeep.verify(archives: archive, progress: job.progress)
                    if let kept { report.findings += try await finding(of: kept, service) }
                    return report
                }
                let findings = report.findings
                return .present([
                    ("ok", .bool(findings.isEmpty)), ("events", .int(report.events)),
                    ("users", .int(report.users)), ("archivedEvents", report.archivedEvents.map { .int($0) }),
                    ("findings", .array(findings.map { .string($0) })),
                ])
            }
        }
    }

    /// A tree head that was kept elsewhere, as `tree-head` answers it.
    private static func treeHead(_ members: JSONValue) throws -> (size: Seq, root: String)? {
        guard let value = members["treeHead"] else { return nil }
        guard let size = value["treeSize"]?.integer?.seq, let root = value["rootHash"]?.string else {
            throw Problem.invalid("treeHead", "must be an object with treeSize and rootHash")
        }
        return (size, root.lowercased())
    }

    private static func finding(of kept: (size: Seq, root: String), _ service: Service) async throws -> [String] {
        do throws(TraylogError) {
            let head = try await service.store.proofs.treeHead(asOf: .seq(kept.size))
            if "\(head.root)" == kept.root { return [] }
        } catch .refused(.upToBeyondHead) {
            if let cluster = service.cluster, await cluster.status().role != .owner {
                throw Problem.unavailable(
                    "this node does not have event \(kept.size) yet: ask again, or ask another node")
            }
        }
        return ["the log does not extend the tree head of \(kept.size) events"]
    }

    private static var ticks: Route {
        job("ticks", "Wake and expire what is due", ["now"]) { members, _ in
            let now = try text("now", members).map { try Timestamp(parsing: $0, field: "now") }
            return { service, _ in
                let report = try await service.store.tick(now: now)
                return JSONValue(writing: { $0.write(report) })
            }
        }
    }

    private static var backups: Route {
        job("backups", "Copy the store", ["dest"], required: ["dest"], node: .each) { members, _ in
            guard let destination = try text("dest", members), destination.hasPrefix("/") else {
                throw Problem.invalid("dest", "must be an absolute path")
            }
            return { service, job in
                let report = try await service.store.upkeep.backup(to: destination, progress: job.progress)
                service.noteBackup(head: report.head)
                return JSONValue(writing: { $0.write(report) })
            }
        }
    }

    private static var job: Route {
        Route(
            .get, "/v1/admin/jobs/{id}", as: "getJob", "How a job stands", .key(.admin), origins: .own,
            partition: .split(isNameable: false) { partitions, call, _ in try await partitions.job(call) },
            answers: .json(.job)
        ) { call in
            guard let job = call.service.jobs.find(call.segment("id")) else {
                if let answer = await call.answerOfAnotherNode() { return answer }
                if let erasure = try await call.keptErasure() { return .json(erasure.json) }
                throw Problem(.notFound, "Not found", "there is no such job")
            }
            return .json(job.json)
        }
    }

    private static var stats: Route {
        Route(
            .get, "/v1/admin/stats", as: "getStatistics", "Sizes and counts", .key(.admin), origins: .own,
            partition: .named, answers: .json(.statistics), refusals: []
        ) { call in
            .json(try await call.store.upkeep.statistics().jsonBytes)
        }
    }

    /// A route that starts a job.
    ///
    /// - Parameter prepare: makes the work of the members, or refuses them.
    private static func job(
        _ name: String, _ summary: String, _ members: [String], required: [String] = [],
        partition: Route.Partitioning = .named, node: Route.Node = .owner,
        _ prepare:
            @escaping @Sendable (JSONValue, Call) async throws
            -> @Sendable (Service, Jobs.Handle) async throws -> JSONValue
    ) -> Route {
        Route(
            .post, "/v1/admin/\(name)", as: "start\(name.prefix(1).uppercased())\(name.dropFirst())", summary,
            .key(.admin), origins: .own, body: .fields(members),
            required: required, partition: partition, node: node,
            status: 202, answers: .json(.jobStarted)
        ) { call in
            let work = try await prepare(try await call.members(Set(members)), call)
            let id = call.service.jobs.start(name, by: call.callerName) { [service = call.service] job in
                try await work(service, job)
            }
            return .json(["id": .string(id)], .accepted, headers: [.location: "/v1/admin/jobs/\(id)"])
        }
    }

    private static func text(_ name: String, _ members: JSONValue) throws -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string else { throw Problem.invalid(name, "must be a string") }
        return text
    }

    private static func flag(_ name: String, _ members: JSONValue) throws -> Bool {
        guard let value = members[name] else { return false }
        guard let flag = value.bool else { throw Problem.invalid(name, "must be true or false") }
        return flag
    }
}

extension Call {
    /// The name of the key.
    fileprivate var callerName: String { caller?.name ?? "" }
}
