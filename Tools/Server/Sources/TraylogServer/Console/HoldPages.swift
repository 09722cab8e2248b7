import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog

/// Legal holds, and the files about a person that leave nothing out.
enum HoldPages {
    static var all: [ConsolePage] {
        [
            ConsolePage(.post, "/users/{u}/hold", .key(.admin)) { visit in
                _ = try await visit.form()
                return try await set(true, visit.segment("u"), visit)
            },
            ConsolePage(.post, "/users/{u}/release", .key(.admin)) { visit in
                _ = try await visit.form()
                return try await set(false, visit.segment("u"), visit)
            },
            ConsolePage(.post, "/holds", .key(.admin), form: ["held"]) { visit in
                let user = try await visit.form()["held"]?.trimmingSpaces ?? ""
                guard !user.isEmpty else { throw Problem.invalid("held", "is missing: name the user") }
                return try await set(true, user, visit)
            },
            ConsolePage(.get, "/users/{u}/complete-history", .key(.audit)) { visit in
                try await file(visit, isDossier: false)
            },
            ConsolePage(.get, "/users/{u}/dossier", .key(.audit)) { visit in try await file(visit, isDossier: true) },
        ]
    }

    private static func set(_ isHeld: Bool, _ user: String, _ visit: Visit) async throws -> Response {
        let path = PercentEncoding.encode(user)
        _ = try await visit.ask(isHeld ? .put : .delete, "/v1/users/\(path)/hold")
        return .seeOther("\(visit.site)/users/\(path)")
    }

    /// A file to save.
    ///
    /// It appends the event that closes the history: browsers send a session's cookie with no other site's links.
    private static func file(_ visit: Visit, isDossier: Bool) async throws -> Response {
        let user = visit.segment("u")
        var response = try await PersonRoutes.lines(
            of: user, visit.service, isDossier: isDossier, actor: visit.session?.caller.name,
            device: "console", purpose: visit.session?.purpose)
        let name = "\(isDossier ? "dossier" : "history")-\(PercentEncoding.encode(user)).jsonl"
        response.headers[.contentDisposition] = "attachment; filename=\"\(name)\""
        return response
    }

    /// The hold as pages show it.
    static func context(_ event: Event) -> [String: Any] {
        let user = event.user ?? ""
        return [
            "user": user, "path": PercentEncoding.encode(user), "seq": event.seq.description,
            "since": [Moments.context(event.recordedAt)],
            "by": event.actor ?? "", "hasBy": event.actor != nil && event.actor != user,
        ]
    }
}
