import Hummingbird

/// Something that a program adds to a server: routes, pages, a listener for push providers, or other nodes.
///
/// Each is in a library of its own, such as `TraylogServerConsole`, so that only programs that use it build it.
public struct ServerPart: Sendable {
    /// Answers push providers, given the store, and all of them where the server is divided.
    package typealias Providers =
        @Sendable (HTTPService, Partitions?) -> @Sendable (Request, ServiceContext) async throws -> Response
    /// Makes pages, given the same.
    package typealias Pages = @Sendable (HTTPService, Partitions?) throws -> any ServerPages

    package let routes: RouteGroup?
    package let pages: Pages?
    package let providers: Providers?
    package let cluster: (any ClusterBackend)?

    package init(
        routes: RouteGroup? = nil, pages: Pages? = nil, providers: Providers? = nil,
        cluster: (any ClusterBackend)? = nil
    ) {
        (self.routes, self.pages, self.providers, self.cluster) = (routes, pages, providers, cluster)
    }
}

/// Pages for browsers, such as the console's, beside the routes: they find and check their requests themselves, and ask
/// ``Authenticator`` who is signed in.
package protocol ServerPages: Sendable {
    /// The path of the first page; the others are below it.
    var root: String { get }
    /// For the list of requests under way.
    var routes: [Route] { get }

    /// The page that a request is for, as logs and figures name it, with its route and the user in its path; nil for none.
    func page(of request: Request) -> (name: String, route: Route, user: String?)?
    func answer(_ request: Request, _ context: ServiceContext) async throws -> Response
}

extension ServerPages {
    /// Whether a request is for a page, or for a path below the pages that none has.
    func has(_ request: Request) -> Bool {
        guard let path = request.head.path, path.hasPrefix(root) else { return false }
        let next = path.utf8.dropFirst(root.utf8.count).first
        return next == nil || next == UInt8(ascii: "/") || next == UInt8(ascii: "?")
    }
}
