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
import TraylogAudit

/// Serves a store until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Serve a store (the default).")

    @OptionGroup var options: ServeOptions

    func run() async throws {
        let settings = try ServeSettings(options, environment: ProcessInfo.processInfo.environment)
        var keys = try ServerKeys(file: settings.keys)
        var tokens = try Self.tokens(settings.userTokenKeys)
        let givenKey = try settings.checkpointKey.map { try NotePrivateKey(Self.text($0)) }
        let tls = try Self.tls(settings)
        if options.checkConfig { return print("the configuration is sound") }
        // What is made at the start is in no file.
        var made: [String] = []
        if settings.isDev { made = [try Self.prepareForTrying(&tokens)] }
        for line in made { try keys.add(line: line) }
        guard !keys.isEmpty else { throw ConfigurationError("the keys file has no key") }
        Listener.allowManyConnections()
        LoggingSystem.bootstrap { ServiceLogHandler(label: $0) }
        var storeOptions = StoreOptions()
        let log = ServiceLog()
        let metrics = Metrics(log: log)
        storeOptions.observer = metrics
        let pass = try settings.keys.map { NodePass(keysFile: Array(try Self.text($0).utf8)) }
        let map = settings.partitions
        try map.claim(settings.store)
        if let cluster = settings.cluster { try await Cluster.claim(cluster, log: log) }
        storeOptions.cacheBytes /= map.count
        let authenticator = Authenticator(keys: keys, tokens: tokens, map: map)
        let (limits, answers) = (
            RateLimits(perUser: settings.service.rateUser, perKey: settings.service.rateKey), OpenAnswers()
        )
        var services: [Service] = []
        var common: Common?
        do {
            for partition in 0..<map.count {
                let directory = map.directory(settings.store, partition)
                var cluster: Cluster?
                if let clustered = settings.cluster?.of(partition), let pass {
                    cluster = try await Cluster.start(
                        clustered, store: directory, options: storeOptions, pass: pass, log: log)
                }
                let store =
                    if let cluster { cluster.node.store } else {
                        try await Store.opened(directory, options: storeOptions)
                    }
                do {
                    let shared = if let common { common } else { try await Self.common(settings, givenKey, log) }
                    common = shared
                    services.append(
                        try await Service(
                            store: store, configuration: settings.service, authenticator: authenticator,
                            checkpointKey: shared.key, devices: shared.devices, metrics: metrics, log: log,
                            cluster: cluster, pass: pass, limits: limits, answers: answers))
                } catch {
                    if let cluster { await cluster.stop() } else { await store.close() }
                    throw error
                }
            }
            authenticator.watch(services.map(\.store))
            let reload = KeysReload(file: settings.keys, made: made, authenticator, answers, pass, log)
            let signals = reload.begin()
            defer { signals.cancel() }
            try await Self.serve(services, settings, tls)
        } catch {
            for service in services { await service.close() }
            throw error
        }
        for service in services { await service.close() }
    }

    private static func serve(_ all: [Service], _ settings: ServeSettings, _ tls: TLSConfiguration?) async throws {
        let service = all[0]
        let partitions = all.count > 1 ? Partitions(map: settings.partitions, services: all) : nil
        // Whoever reads the first line may use both.
        let (ports, told) = AsyncStream.makeStream(of: Int.self)
        let providers = try settings.apns.map { address in
            Listener.application(
                APNsResponder(service: service, partitions: partitions), address,
                try Listener.tls(tls, askingFor: settings.apnsClients), log: service.log
            ) { told.yield($0) }
        }
        let scheme = tls == nil ? "http" : "https"
        let console =
            settings.hasConsole
            ? try Console(service, partitions, isSecure: tls != nil || settings.isBehindProxy) : nil
        let app = Listener.application(
            Responder(service: service, routes: AllRoutes.table, console: console, partitions: partitions),
            (settings.host, settings.port), tls, routes: AllRoutes.table, log: service.log
        ) { port in
            var lines = "listening on \(scheme)://\(Listener.text(settings.host)):\(port)\n"
            if let apns = settings.apns {
                // None comes when nobody can listen there; then the server ends, and says so.
                guard let port = await ports.first(where: { _ in true }) else { return }
                lines += "providers: https://\(Listener.text(apns.host)):\(port)\n"
            }
            FileHandle.standardOutput.write(Data(lines.utf8))
        }
        // The last one hears first that the server is to stop: live streams end before connections are waited for.
        var services: [any ServiceLifecycle.Service] = [app, Beats(answers: service.answers), Drain(all: all)]
        if let providers { services.insert(providers, at: 0) }
        var configuration = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "traylog-server"))
        configuration.maximumGracefulShutdownDuration = .seconds(9)
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch is CancellationError {
            // What did not end in time was ended.
        } catch let error as IOError {
            let addresses = [(settings.host, settings.port)] + (settings.apns.map { [($0.host, $0.port)] } ?? [])
            throw UnusableAddress(
                addresses.map { "\(Listener.text($0)):\($1)" }.joined(separator: " or "), errno: error.errnoCode)
        }
    }

    /// Keeps live streams alive.
    private struct Beats: ServiceLifecycle.Service {
        let answers: OpenAnswers

        func run() async throws {
            try? await cancelWhenGracefulShutdown { try await answers.beat() }
        }
    }

    /// Says that the server stops, as soon as it is told.
    private struct Drain: ServiceLifecycle.Service {
        let all: [traylog_server.Service]

        func run() async throws {
            try? await gracefulShutdown()
            // Thousands of connections may take longer to end than anybody waits, and so may a disk. What was acknowledged is on disk.
            DispatchQueue(label: "traylog.end").asyncAfter(deadline: .now() + .milliseconds(9_500)) { Program.end(0) }
            for service in all { service.drain() }
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

    /// All partitions of a server share these; all nodes of a cluster, too.
    private typealias Common = (devices: any Devices, key: NotePrivateKey)

    private static func common(
        _ settings: ServeSettings, _ given: NotePrivateKey?, _ log: ServiceLog
    ) async throws -> Common {
        guard let cluster = settings.cluster else {
            let key = if let given { given } else { try await checkpointKey(in: settings.store) { $0 } }
            return (try DeviceFile(directory: settings.store), key)
        }
        let devices = try await Cluster.devices(cluster, log: log)
        if let given { return (devices, given) }
        let key = try await checkpointKey(in: settings.store) { own in
            try await Cluster.checkpointKey(cluster, proposing: own, log: log)
        }
        return (devices, key)
    }

    /// The key that signs checkpoints where none was given: made once, and kept beside the store.
    ///
    /// - Parameter agree: takes the key that there is here, or a new one, and returns the one to use.
    private static func checkpointKey(
        in directory: String, _ agree: (String) async throws -> String
    ) async throws -> NotePrivateKey {
        let path = directory + "/checkpoint.key"
        let kept = FileManager.default.fileExists(atPath: path) ? try NotePrivateKey(text(path)) : nil
        let own = try kept ?? NotePrivateKey(name: "traylog")
        let key = try NotePrivateKey(try await agree(own.text))
        guard key.text != kept?.text else { return key }
        for (path, text, rights) in [(path + ".pub", key.publicKey.text, 0o644), (path, key.text, 0o600)] {
            try SmallFile.write(Data("\(text)\n".utf8), to: path, rights: rights)
        }
        return key
    }

    private static func tls(_ settings: ServeSettings) throws -> TLSConfiguration? {
        guard let certificate = settings.certificate, let key = settings.certificateKey else { return nil }
        let chain = try Listener.certificates(certificate).map { NIOSSLCertificateSource.certificate($0) }
        guard let privateKey = try? NIOSSLPrivateKey(file: key, format: .pem) else {
            throw ConfigurationError("\(key) has no private key (PEM) that can be read")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        guard (try? NIOSSLContext(configuration: configuration)) != nil else {
            throw ConfigurationError("\(key) is not the key of \(certificate)")
        }
        return configuration
    }

    /// - Returns: the line of a keys file that knows the key.
    private static func prepareForTrying(_ tokens: inout UserTokens) throws -> String {
        let made = ServerKeys.made(scopes: KeyScope.allCases)
        let secret = [UInt8].random(32)
        tokens.add(secret: secret, kid: "dev")
        FileHandle.standardOutput.write(Data("key: \(made.key)\nsecret: \(secret.base64URL) kid: dev\n".utf8))
        return made.line
    }
}
