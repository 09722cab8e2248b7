import ArgumentParser
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Traylog

/// Serves a store until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Serve a store (the default).")

    @OptionGroup var options: ServeOptions

    func run() async throws {
        let settings = try ServeSettings(options, environment: ProcessInfo.processInfo.environment)
        var keys = try settings.keys.map { try ServerKeys(file: $0) } ?? ServerKeys()
        var tokens = try Self.tokens(settings.userTokenKeys)
        let checkpointKey = try settings.checkpointKey.map { try NotePrivateKey(Self.text($0)) }
        let tls = try Self.tls(settings)
        if options.checkConfig { return print("the configuration is sound") }
        if settings.isDev { try Self.prepareForTrying(&keys, &tokens) }
        guard !keys.isEmpty else { throw ConfigurationError("the keys file has no key") }
        LoggingSystem.bootstrap { ServiceLogHandler(label: $0) }
        let store = try await Task { try Store.open(settings.store) }.value
        let service = try await Service(
            store: store, configuration: settings.service, keys: keys, tokens: tokens, checkpointKey: checkpointKey,
            log: ServiceLog())
        do {
            try await Self.serve(service, settings, tls)
        } catch {
            store.close()
            throw error
        }
        store.close()
    }

    private static func serve(_ service: Service, _ settings: ServeSettings, _ tls: TLSConfiguration?) async throws {
        let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: Service.longestHead, maxHeaderListSize: Service.longestHead, maxHeaderFieldCount: 100)
        let channel = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestPatience()], idleTimeout: .minutes(5), httpDecoderConfiguration: decoder)
        let server = HTTPServerBuilder { responder in
            guard let tls else {
                return PatientChannel(base: HTTP1Channel(responder: responder, configuration: channel))
            }
            let configuration = HTTP2UpgradeChannel.Configuration(
                idleTimeout: .seconds(300), streamConfiguration: channel)
            return PatientChannel(
                base: try HTTP2UpgradeChannel(tlsConfiguration: tls, configuration: configuration, responder: responder)
            )
        }
        let scheme = tls == nil ? "http" : "https"
        let app = Application(
            responder: Responder(service: service, routes: AllRoutes.table), server: server,
            configuration: ApplicationConfiguration(
                address: .hostname(settings.host, port: settings.port), serverName: "traylog",
                availableConnectionsDelegate: MaximumAvailableConnections(10_000)),
            services: [Drain(service: service)],
            onServerRunning: { channel in
                let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
                let port = channel.localAddress?.port ?? settings.port
                FileHandle.standardOutput.write(Data("listening on \(scheme)://\(host):\(port)\n".utf8))
            },
            logger: Logger(label: "traylog-server"))
        var configuration = ServiceGroupConfiguration(
            services: [app], gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "traylog-server"))
        configuration.maximumGracefulShutdownDuration = .seconds(10)
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch is CancellationError {
            // What did not end in time was ended.
        }
    }

    /// Says that the server stops, as soon as it is told.
    private struct Drain: ServiceLifecycle.Service {
        let service: traylog_server.Service

        func run() async throws {
            try? await gracefulShutdown()
            service.drain()
        }
    }

    private static func tokens(_ files: [String]) throws -> UserTokens {
        var tokens = UserTokens()
        for file in files { try tokens.add(jwk: Array(text(file).utf8)) }
        return tokens
    }

    private static func text(_ path: String) throws -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ConfigurationError("\(path) cannot be read")
        }
        return text.trimmingSpaces
    }

    private static func tls(_ settings: ServeSettings) throws -> TLSConfiguration? {
        guard let certificate = settings.certificate, let key = settings.certificateKey else { return nil }
        let chain = try NIOSSLCertificate.fromPEMFile(certificate).map { NIOSSLCertificateSource.certificate($0) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain, privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }

    private static func prepareForTrying(_ keys: inout ServerKeys, _ tokens: inout UserTokens) throws {
        let made = ServerKeys.made(scopes: KeyScope.allCases)
        try keys.add(line: made.line)
        let secret = [UInt8].random(32)
        tokens.add(secret: secret, kid: "dev")
        FileHandle.standardOutput.write(Data("key: \(made.key)\nsecret: \(secret.base64URL) kid: dev\n".utf8))
    }
}
