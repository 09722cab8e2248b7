import HTTPTypes
import Hummingbird
import Traylog

/// The routes of operators.
enum AdminRoutes {
    static var all: [Route] { [compactions, erasures, replays, verifications, ticks, backups, job, stats] }

    private static var compactions: Route {
        job("compactions", "Compact the store", ["before", "keepDays", "archive", "dryRun"]) { members, _ in
            let moment = try before(members)
            let (archive, isDryRun) = (try text("archive", members), try flag("dryRun", members))
            return { service in
                let report = try await service.store.compact(before: moment, archive: archive, isDryRun: isDryRun)
                return JSONValue(writing: { $0.write(report, isDryRun: isDryRun) })
            }
        }
    }

    private static func before(_ members: JSONValue) throws -> Moment {
        switch (members["before"], members["keepDays"]) {
        case (let before?, nil):
            if let seq = before.integer { return .seq(Seq(seq)) }
            guard let moment = before.string.flatMap(Moment.init) else {
                throw Problem.invalid("before", "must be a seq or a time in RFC 3339")
            }
            return moment
        case (nil, let days?):
            guard let count = days.integer, count <= 36_500 else {
                throw Problem.invalid("keepDays", "must be a number of days")
            }
            return Moment.daysAgo(Int(count))
        default:
            throw Problem.invalid("before", "one of before and keepDays must be given")
        }
    }

    private static var erasures: Route {
        job("erasures", "Erase a person", ["user", "confirm", "archive"], required: ["user", "confirm"]) {
            members, name in
            guard let user = try text("user", members) else { throw Problem.invalid("user", "must be given") }
            guard try text("confirm", members).map({ $0.utf8.elementsEqual(user.utf8) }) ?? false else {
                throw Problem.invalid("confirm", "must be the user's name again")
            }
            let archive = try text("archive", members)
            return { service in
                let report = try await service.store.erase(user, actor: name, archives: archive)
                try await service.devices.forget(user)
                return JSONValue(writing: { $0.write(report) })
            }
        }
    }

    private static var replays: Route {
        job("replays", "Fold the log anew and compare", []) { _, _ in
            { service in
                let report = try await service.store.replay()
                return JSONValue(writing: { $0.write(report) })
            }
        }
    }

    private static var verifications: Route {
        job("verifications", "Check everything that can be checked", ["archive"]) { members, _ in
            let archive = try text("archive", members)
            return { service in
                let report = try await service.store.verify(archives: archive)
                return .present([
                    ("ok", .bool(report.findings.isEmpty)), ("events", .int(report.events)),
                    ("users", .int(report.users)), ("archivedEvents", report.archivedEvents.map { .int($0) }),
                    ("findings", .array(report.findings.map { .string($0) })),
                ])
            }
        }
    }

    private static var ticks: Route {
        job("ticks", "Wake and expire what is due", ["now"]) { members, _ in
            var now: Timestamp?
            if let text = try text("now", members) {
                now = Timestamp(rfc3339: text)
                guard now != nil else { throw Problem.invalid("now", "must be a time in RFC 3339") }
            }
            return { [now] service in
                let report = try await service.store.tick(now: now)
                return JSONValue(writing: { $0.write(report) })
            }
        }
    }

    private static var backups: Route {
        job("backups", "Copy the store", ["dest"], required: ["dest"]) { members, _ in
            guard let destination = try text("dest", members), destination.hasPrefix("/") else {
                throw Problem.invalid("dest", "must be an absolute path")
            }
            return { service in
                let report = try await service.store.backup(to: destination)
                return JSONValue(writing: { $0.write(report) })
            }
        }
    }

    private static var job: Route {
        Route(.get, "/v1/admin/jobs/{id}", "How a job stands", .key(.admin)) { call in
            guard let job = call.service.jobs.find(call.segment("id")) else {
                throw Problem(.notFound, "Not found", "there is no such job")
            }
            return .json(job.json)
        }
    }

    private static var stats: Route {
        Route(.get, "/v1/admin/stats", "Sizes and counts", .key(.admin)) { call in
            .json(try await call.store.statistics().jsonBytes)
        }
    }

    /// A route that starts a job.
    ///
    /// - Parameter prepare: makes the work of the members and the name of the key, or refuses them.
    private static func job(
        _ name: String, _ summary: String, _ members: [String], required: [String] = [],
        _ prepare: @escaping @Sendable (JSONValue, String) throws -> @Sendable (Service) async throws -> JSONValue
    ) -> Route {
        Route(
            .post, "/v1/admin/\(name)", summary, .key(.admin), body: .fields(members), required: required, status: 202
        ) { call in
            let caller = call.caller?.name ?? ""
            let work = try prepare(try await call.members(Set(members)), caller)
            let id = call.service.jobs.start(name, by: caller) { [service = call.service] in try await work(service) }
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
