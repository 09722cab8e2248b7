import HTTPTypes
import Hummingbird
import NIOCore

/// What a request brings with it beside its head and body: the connection.
struct ServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The address of the peer; of a proxy's peer, as the proxy says it last in `X-Forwarded-For`.
    func address(_ request: Request, isBehindProxy: Bool) throws(Problem) -> String {
        if isBehindProxy, let field = try request.headers.text(.forwardedFor),
            let last = field.split(separator: ",").last
        {
            return last.trimmingSpaces
        }
        return (channel.remoteAddress ?? channel.parent?.remoteAddress)?.ipAddress ?? "unknown"
    }
}

extension HTTPField.Name {
    static let forwardedFor = Self("X-Forwarded-For")!
}
