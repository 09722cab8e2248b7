import HTTPTypes
import Hummingbird
import NIOCore

/// A request's context of an app that adds a store's routes to its router: it keeps the connection.
///
/// ```swift
/// struct AppContext: TraylogRequestContext {
///     var coreContext: CoreRequestContextStorage
///     let channel: any Channel
///
///     init(source: Source) {
///         coreContext = CoreRequestContextStorage(source: source)
///         channel = source.channel
///     }
/// }
/// ```
public protocol TraylogRequestContext: RequestContext {
    /// The connection; a stream of it with HTTP/2.
    var channel: any Channel { get }
}

/// What a request brings with it beside its head and body: the connection.
package struct ServiceContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    package let channel: any Channel

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The address of the peer; of a proxy's peer, as the proxy says it last in `X-Forwarded-For`.
    package func address(_ request: Request, isBehindProxy: Bool) throws(Problem) -> CallerAddress {
        if isBehindProxy, let field = try request.headers.text(.forwardedFor),
            let last = field.split(separator: ",").last, let address = CallerAddress(forwarded: last)
        {
            return address
        }
        return CallerAddress(channel.remoteAddress ?? channel.parent?.remoteAddress)
    }
}

extension HTTPField.Name {
    static let forwardedFor = Self("X-Forwarded-For")!
}
