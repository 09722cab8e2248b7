import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// Legal holds, and the files about a person that leave nothing out.
enum HoldPages {
    static var all: [ConsolePage] {
        [
            ConsolePage(.post, "/users/{u}/hold", .key(.admin)) { visit in
                _ = try await visit.form()
                return try await set(true, visit.segment("u"), visit)
            },
            ConsolePage(.post, "/users/{u}/release", .key(.admin), form: ["confirm"]) { visit in
                let (fields, user) = (try await visit.form(), visit.segment("u"))
                guard fields["confirm"] == nil else { return try await set(false, user, visit) }
                return ConfirmPage.response(
                    "End the legal hold?",
                    "This person's data may then be erased, and compactions may take it out of the log. What is gone does not "
                        + "come back, also if you hold the person again.",
                    button: "End the hold", [("confirm", "yes")], to: "/users/\(PercentEncoding.encode(user))/release",
                    about: user, visit)
            },
            ConsolePage(.post, "/holds", .key(.admin), form: ["held", "confirm"]) { visit in
                let fields = try await visit.form()
                let user = fields["held"]?.trimmingSpaces ?? ""
                guard !user.isEmpty else { throw Problem.invalid("held", "is missing: name the user") }
                guard fields["confirm"] == nil, let note = try await visit.store.noteOnUnknown(user) else {
                    return try await set(true, user, visit)
                }
                return ConfirmPage.response(
                    "Hold somebody who is not known?",
                    note.prefix(1).uppercased() + note.dropFirst() + (note.hasSuffix("?") ? "" : ".")
                        + " A hold protects exactly this name, and the name is a user from then on.",
                    button: "Hold this name", [("held", user), ("confirm", "yes")], to: "/holds", about: user,
                    visit)
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
        let response = try await PersonRoutes.lines(
            of: user, visit.service, isDossier: isDossier, actor: visit.session?.caller.name,
            device: "console", purpose: visit.session?.purpose)
        return response.kept(as: [isDossier ? "dossier" : "history", user], ending: ".jsonl")
    }
}

/// What asks before it does what a form has asked for.
struct ConfirmPage: PageContent {
    static let template = PageTemplate.confirm

    struct Field {
        let name, value: String
    }

    let subject, words, button, address: String
    let fields: [Field]
    /// The page that it comes from: its name and its address.
    let from, back: String

    /// - Parameters:
    ///   - subject: the person or event that it is about.
    ///   - fields: what the form sends, with what says that it was asked.
    static func response(
        _ title: String, _ words: String, button: String, _ fields: [(name: String, value: String)], to address: String,
        about subject: String, from: String = "Operations", back: String = "/operations", _ visit: Visit
    ) -> Response {
        visit.page(
            title,
            ConfirmPage(
                subject: subject, words: words, button: button, address: address,
                fields: fields.map { Field(name: $0.name, value: $0.value) }, from: from, back: back))
    }
}

/// A legal hold as pages show it.
struct Hold {
    let user: Name
    let seq: Seq
    let since: Timestamp
    /// Nil for somebody who is the person.
    let by: String?

    init(_ event: Event) {
        user = Name(event.user ?? "")
        (seq, since) = (event.seq, event.recordedAt)
        by = event.actor == user.name ? nil : event.actor
    }
}
