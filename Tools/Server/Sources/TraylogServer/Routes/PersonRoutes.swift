import Hummingbird
@_spi(Operations) @_spi(JSON) import Traylog

/// The routes about a person as a whole: the legal hold, and the files that leave nothing out.
package enum PersonRoutes {
    private static let reader = ["actor", "device", "purpose"]

    static var all: [Route] { [hold, release, getHold, completeHistory, dossier, reads] }

    private static var hold: Route {
        Route(
            .put, "/v1/users/{u}/hold", as: "holdUser", "Put a person on legal hold", .key(.admin), origins: .own,
            body: .fields(["actor", "device"]), answers: .json(.receipt), refusals: []
        ) { call in
            let (actor, device, _) = try await who(call, ["actor", "device"])
            return .json(receipt(try await call.store.upkeep.hold(call.user, actor: actor, device: device)))
        }
    }

    private static var release: Route {
        Route(
            .delete, "/v1/users/{u}/hold", as: "releaseUser", "End a legal hold", .key(.admin), origins: .own,
            body: .fields(["actor", "device"]), answers: .json(.receipt), refusals: []
        ) { call in
            let (actor, device, _) = try await who(call, ["actor", "device"])
            return .json(receipt(try await call.store.upkeep.release(call.user, actor: actor, device: device)))
        }
    }

    private static var getHold: Route {
        Route(
            .get, "/v1/users/{u}/hold", as: "getHold", "Whether a person is on legal hold", .key(.users), origins: .own,
            answers: .json(.hold), refusals: []
        ) { call in
            let event = try await call.store.upkeep.hold(of: call.user)
            return .json(
                .present([
                    ("user", .string(call.user)), ("held", .bool(event != nil)),
                    ("since", event.map { .string($0.recordedAt.description) }),
                    ("seq", event.map { JSONValue($0.seq) }),
                    ("actor", (event?.actor).map { .string($0) }),
                ]))
        }
    }

    private static var completeHistory: Route {
        file("complete-history", as: "getCompleteHistory", "A person's history with nothing left out", isDossier: false)
    }

    private static var dossier: Route {
        file("dossier", as: "getDossier", "All that the store holds of a person", isDossier: true)
    }

    /// A route that first appends who reads, and then answers with the lines of the file.
    private static func file(_ path: String, as name: String, _ summary: String, isDossier: Bool) -> Route {
        Route(
            .post, "/v1/users/{u}/\(path)", as: name, summary, .key(.audit), origins: .own,
            body: .fields(reader + ["witnessed"]), answers: .lines(.personFileLine)
        ) { call in
            let members = try await call.members(Set(reader + ["witnessed"]))
            let (actor, device, purpose) = try who(call, members)
            let isWitnessed = members["witnessed"]?.bool ?? false
            if isWitnessed, call.service.witnesses == nil {
                throw Problem.invalid("witnessed", "needs a server with --witness-policy")
            }
            return try await lines(
                of: call.user, call.service, isDossier: isDossier, actor: actor, device: device, purpose: purpose,
                isWitnessed: isWitnessed)
        }
    }

    /// The lines of a person's file, after the event that closes it.
    ///
    /// - Parameter isWitnessed: waits until a quorum of witnesses has seen that event.
    package static func lines(
        of user: String, _ service: Service, isDossier: Bool, actor: String?, device: String?, purpose: String?,
        isWitnessed: Bool = false
    ) async throws -> Response {
        let last = try await service.store.closeHistory(of: user, actor: actor, device: device, purpose: purpose)
        let seen = try await isWitnessed ? service.witnesses?.published(through: last) : nil
        let note = if let seen { seen } else { try await service.checkpoint(through: last) }
        // What is refused has a status: the file is begun before the answer.
        let file = try await service.store.personFile(
            of: user, through: last, isDossier: isDossier, seenIn: note, version: "traylog-server")
        let first = try await file.next()
        return .lines { writer in
            var block = first
            while let bytes = block {
                if !bytes.isEmpty { try await writer.write(ByteBuffer(bytes: bytes)) }
                block = try await file.next()
            }
        }
    }

    /// Records that somebody reads, for a program that reads the store's files itself.
    private static var reads: Route {
        Route(
            .post, "/v1/users/{u}/reads", as: "recordRead", "Record that somebody reads what is stored about a person",
            .key(.audit), origins: .own, body: .fields(reader + ["hourly"]), answers: .json(.receipt), refusals: []
        ) { call in
            let members = try await call.members(Set(reader + ["hourly"]))
            let (actor, device, purpose) = try who(call, members)
            guard members["hourly"]?.bool ?? false else {
                let last = try await call.store.closeHistory(
                    of: call.user, actor: actor, device: device, purpose: purpose)
                return .json(["result": "appended", "seq": JSONValue(last)])
            }
            if let log = call.service.accessLog {
                try await log.record(call.user, key: actor, purpose: purpose, page: device)
            }
            return .json(["result": "unchanged"])
        }
    }

    // MARK: Members

    private static func who(_ call: Call, _ names: Set<String>) async throws -> (
        actor: String, device: String?, purpose: String?
    ) {
        try who(call, await call.members(names))
    }

    /// Who asks, and what for: as the body says, else as the key and the headers do.
    private static func who(_ call: Call, _ members: JSONValue) throws -> (
        actor: String, device: String?, purpose: String?
    ) {
        let device = try text("device", members) ?? call.headers.text(.device)
        let purpose = try text("purpose", members) ?? call.headers.text(.purpose)
        if let purpose { try Service.check(purpose) }
        return (try text("actor", members) ?? call.caller?.name ?? "", device, purpose)
    }

    private static func text(_ name: String, _ members: JSONValue) throws -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string else { throw Problem.invalid(name, "must be a string") }
        return text
    }

    private static func receipt(_ receipt: Receipt) -> JSONValue { JSONValue(writing: { $0.write(receipt) }) }
}
