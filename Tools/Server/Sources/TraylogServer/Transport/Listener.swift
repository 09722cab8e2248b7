import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL

/// The system lets nobody listen there.
struct UnusableAddress: Error, CustomStringConvertible {
    let description: String

    init(_ address: String, errno: CInt) {
        let reason = unsafe String(cString: strerror(errno))
        description =
            "cannot listen on \(address): \(reason). Choose another address, or stop the program that uses it"
    }
}

/// One address that the server listens on.
enum Listener {
    /// - Parameter onRunning: told the port, which may have been 0; 0 for a socket in the file system.
    static func application<Answering: HTTPResponder>(
        _ responder: Answering, _ address: BindAddress, _ tls: TLSConfiguration?,
        routes: RouteTable? = nil, admission: Admission, log: ServiceLog,
        onRunning: @escaping @Sendable (Int) async -> Void
    ) -> Application<Answering> where Answering.Context == ServiceContext {
        let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: Service.longestHead, maxHeaderListSize: Service.longestHead, maxHeaderFieldCount: 100)
        let channel = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestTimeout(routes: routes, admission: admission)], idleTimeout: .minutes(5),
            httpDecoderConfiguration: decoder)
        let server = HTTPServerBuilder { responder in
            guard let tls else {
                return TimedChannel(
                    base: HTTP1Channel(responder: responder, configuration: channel), admission: admission)
            }
            let configuration = HTTP2UpgradeChannel.Configuration(
                idleTimeout: .seconds(300), streamConfiguration: channel)
            return TimedChannel(
                base: try HTTP2UpgradeChannel(
                    tlsConfiguration: tls, configuration: configuration, responder: responder),
                admission: admission)
        }
        return Application(
            responder: responder, server: server,
            configuration: ApplicationConfiguration(
                address: address, serverName: "traylog",
                availableConnectionsDelegate: MaximumAvailableConnections(Connections.most)),
            onServerRunning: { channel in
                // Nothing else is done there: it can only fail when the channel is closed.
                try? await channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(log: log), position: .first)
                }.get()
                await onRunning(channel.localAddress?.port ?? 0)
            },
            logger: Logger(label: "traylog-server"))
    }

    /// Takes as many file descriptors as the system allows: each connection needs one.
    static func allowManyConnections() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // Where that is refused, the limit stays as it was.
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The host as URLs have it.
    static func text(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    /// The certificates of a file.
    static func certificates(_ file: String) throws -> [NIOSSLCertificate] {
        guard let found = try? NIOSSLCertificate.fromPEMFile(file), !found.isEmpty else {
            throw ConfigurationError("\(file) has no certificate (PEM) that can be read")
        }
        return found
    }

    /// The same, with clients who must show a certificate that one of the file's has signed.
    static func tls(_ tls: TLSConfiguration?, askingFor file: String?) throws -> TLSConfiguration? {
        guard var tls, let file else { return tls }
        tls.trustRoots = .certificates(try certificates(file))
        tls.certificateVerification = .noHostnameVerification
        return tls
    }
}
