import Hummingbird

/// Something that a program adds to a server: routes, a listener for push providers, or other nodes.
///
/// Each is in a library of its own, such as `TraylogServerNovu`, so that only programs that use it build it.
public struct ServerPart: Sendable {
    /// Answers push providers, given the store, and all of them where the server is divided.
    package typealias Providers =
        @Sendable (HTTPService, Partitions?) -> @Sendable (Request, ServiceContext) async throws -> Response

    package let routes: RouteGroup?
    package let providers: Providers?
    package let cluster: (any ClusterBackend)?

    package init(
        routes: RouteGroup? = nil, providers: Providers? = nil, cluster: (any ClusterBackend)? = nil
    ) {
        (self.routes, self.providers, self.cluster) = (routes, providers, cluster)
    }
}
