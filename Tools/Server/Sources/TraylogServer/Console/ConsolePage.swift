import HTTPTypes
import Hummingbird

/// A page of the console, or what one sends: its route, and what it shows.
struct ConsolePage: Sendable {
    let route: Route
    /// The fields of a form that it takes, beside the token of the form.
    let form: [String]
    let show: @Sendable (Visit) async throws -> Response

    /// - Parameters:
    ///   - scope: of a key that may; nil for everybody, signed in or not.
    ///   - shows: by default of the user in the path, if there is one.
    init(
        _ method: HTTPRequest.Method, _ path: String, _ scope: Access, query: [String] = [],
        form: [String] = [], shows: Route.Content? = nil, _ show: @escaping @Sendable (Visit) async throws -> Response
    ) {
        route = Route(
            method, Console.root + path, as: "", "", scope, origins: .own, query: query, partition: .any,
            shows: shows ?? (PathTemplate(path).variables.contains("u") ? .user : .nobody), answers: .text("text/html")
        ) { _ in
            throw Problem(.notFound, "Not found", "there is no such page")
        }
        (self.form, self.show) = (form, show)
    }

    static var all: [ConsolePage] {
        SignInPages.all + OverviewPage.all + UserPages.all + TimelinePages.all + DifferencePage.all + EventPages.all
            + OperationPages.all + SearchPage.all + LookedPage.all + ItemPage.all + AudiencePage.all + PlannedPage.all
            + UndoForm.all + HoldPages.all
    }
}

extension Route {
    /// Tells the pages apart.
    var pageName: String { "\(method) \(path.text)" }
}
