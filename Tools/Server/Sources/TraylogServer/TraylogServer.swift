import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import ServiceLifecycle
@_spi(Operations) import Traylog
@_spi(Witness) import TraylogAudit

/// A store behind HTTP: a server of its own, or routes of an app's.
///
/// ```swift
/// var configuration = ServerConfiguration(store: "/var/lib/traylog")
/// configuration.keys = "/etc/traylog/keys"
/// try await TraylogServer.run(configuration)
/// ```
///
/// An app with a Hummingbird server adds the routes to its own router, whose contexts keep the connection
/// (``TraylogRequestContext``):
///
/// ```swift
/// let traylog = try await TraylogServer.open(configuration)
/// let router = Router(context: AppContext.self)
/// traylog.addRoutes(to: router)
/// var app = Application(router: router)
/// app.addServices(traylog)
/// try await app.runService()
/// await traylog.close()
/// ```
///
/// Both take parts, such as `TraylogServerConsole`'s: `open(configuration, parts: [.console])`.
public final class TraylogServer: Sendable {
    package let services: [HTTPService]
    package let responder: Responder
    private let reload: Reload
    private let certificate: ServerCertificate?
    private let localAccess: LocalAccess
    private let underWay: RequestsUnderWay?
    private let archiving: Archiving?

    private init(
        _ services: [HTTPService], _ responder: Responder, _ reload: Reload, _ certificate: ServerCertificate?,
        _ localAccess: LocalAccess, _ archiving: Archiving?
    ) {
        (self.services, self.responder, self.reload) = (services, responder, reload)
        (self.certificate, self.localAccess, self.archiving) = (certificate, localAccess, archiving)
        underWay = responder.underWay
    }

    /// Opens the store, and whatever else answers need.
    ///
    /// - Parameter parts: what the server has beside the store's own routes.
    /// - Throws: ``ConfigurationError``; `TraylogError` when the store cannot be opened.
    public static func open(_ configuration: ServerConfiguration, parts: [ServerPart] = []) async throws
        -> TraylogServer
    {
        try await Setup(configuration, parts).open()
    }

    /// Closes the store; a node of a cluster gives its lease up first.
    ///
    /// Nothing may be asked afterwards.
    public func close() async {
        for service in services { await service.close() }
        underWay?.close()
    }

    /// Adds the store's routes to an app's router, at the paths that they have on a server of their own.
    ///
    /// The app's server decides how large a head may be, and how long a peer may be silent. Nothing is read again on SIGHUP.
    public func addRoutes<Context: TraylogRequestContext>(to router: some RouterMethods<Context>) {
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
        var paths = responder.routes.templates
        if let pages = responder.pages { paths += [pages.root, pages.root + "/**"] }
        for path in paths {
            for method in methods {
                router.on(RouterPath(path), method: method) { [responder] request, context in
                    let source = ApplicationRequestContextSource(channel: context.channel, logger: context.logger)
                    return try await responder.respond(to: request, context: ServiceContext(source: source))
                }
            }
        }
    }

    /// Everything that is read from files comes first, so that a faulty file leaves no store behind.
    struct Setup {
        let configuration: ServerConfiguration
        private let parts: [ServerPart]
        private let certificate: ServerCertificate?
        private let keys: ServerKeys
        private let tokens: UserTokens
        private let log = ServiceLog()
        private let checkpointKey: NotePrivateKey?
        private let policy: (witnesses: WitnessPolicy, interval: Duration)?

        init(_ configuration: ServerConfiguration, _ parts: [ServerPart]) async throws {
            try configuration.check()
            if configuration.cluster != nil { _ = try backend(parts) }
            if configuration.apns != nil, !parts.contains(where: { $0.providers != nil }) {
                throw ConfigurationError("this server was built without APNs: it cannot have --apns-listen")
            }
            (self.configuration, self.parts) = (configuration, parts)
            keys = try ServerKeys(file: configuration.keys)
            tokens = try await UserTokens(files: configuration.userTokenKeys)
            checkpointKey = try configuration.checkpointKey.map { try NotePrivateKey(text($0)) }
            let interval = try configuration.witnessSpan()
            policy = try configuration.witnessPolicy.map { (try TraylogServer.policy($0), interval) }
            certificate = try ServerCertificate(configuration, log)
        }

        func open() async throws -> TraylogServer {
            var (keys, tokens) = (keys, tokens)
            let made = configuration.isDev ? MadeKeys() : nil
            if let made {
                try keys.add(line: made.line)
                tokens = try await UserTokens(files: configuration.userTokenKeys, secret: made.secret)
            }
            guard !keys.isEmpty else { throw ConfigurationError("the keys file has no key") }
            for variable in configuration.unknownVariables {
                log.write([("warning", .string("\(variable) sets nothing: the server has no such option"))])
            }
            var storeOptions = StoreOptions()
            let metrics = ServerMetrics(log: log)
            storeOptions.observer = metrics
            let map = configuration.partitions
            try map.claim(configuration.store)
            let backend = configuration.cluster == nil ? nil : try backend(parts)
            if let cluster = configuration.cluster { try await backend?.claim(cluster, log: log) }
            storeOptions.cacheBytes /= map.count
            let settings = try configuration.service()
            let local = ServerKeys.made(scopes: [.audit, .admin], name: "command line")
            var own = try ServerKeys(file: nil)
            try own.add(line: local.line)
            let authenticator = Authenticator(keys: keys, own: own, tokens: tokens, map: map)
            let admission = Admission(
                rates: RateLimits(perUser: settings.rateUser, perKey: settings.rateKey), metrics: metrics,
                isBehindProxy: settings.isBehindProxy)
            let answers = OpenAnswers()
            let groups = AllRoutes.groups + parts.compactMap(\.routes)
            let routes = RouteTable(groups)
            let description = ByteBuffer(bytes: OpenAPI.document(groups, partitions: map.count))
            var services: [HTTPService] = []
            var common: Common?
            var pass: NodePass?
            if configuration.cluster != nil {
                // Nodes know each other by the key that signs their checkpoints, so it comes before the store does.
                try FileManager.default.createDirectory(
                    atPath: configuration.store, withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
                let shared = try await TraylogServer.common(configuration, parts, checkpointKey, log)
                (common, pass) = (shared, NodePass(shared.key))
            }
            do {
                for partition in 0..<map.count {
                    let directory = map.directory(configuration.store, partition)
                    var cluster: (any ClusterNodeHost)?
                    if let backend, let clustered = configuration.cluster?.of(partition), let pass {
                        cluster = try await backend.start(
                            clustered, store: directory, options: storeOptions, pass: pass, log: log)
                    }
                    let store =
                        if let cluster { cluster.store } else {
                            try await Store.opened(directory, options: storeOptions)
                        }
                    do {
                        let shared =
                            if let common { common } else {
                                try await TraylogServer.common(configuration, parts, checkpointKey, log)
                            }
                        common = shared
                        services.append(
                            try await HTTPService(
                                store: store, configuration: settings, authenticator: authenticator,
                                checkpointKey: shared.key, devices: shared.devices, metrics: metrics, log: log,
                                cluster: cluster, pass: pass, admission: admission, answers: answers, routes: routes,
                                description: description, policy: policy))
                    } catch {
                        if let cluster { await cluster.stop() } else { await store.close() }
                        throw error
                    }
                }
                authenticator.watch(services.map(\.store))
                for service in services { try service.store.noteAccessRecording(configuration.recordsAccess) }
                let partitions = services.count > 1 ? Partitions(map: map, services: services) : nil
                let pages = configuration.hasPages ? parts.lazy.compactMap(\.pages).first : nil
                var responder = Responder(
                    service: services[0], routes: routes, pages: try pages?(services[0], partitions),
                    partitions: partitions)
                responder.underWay = RequestsUnderWay.begin(
                    in: configuration.store, routes: routes.routes + (responder.pages?.routes ?? []), log: log)
                return TraylogServer(
                    services, responder,
                    Reload(configuration, made, certificate, authenticator, answers, log), certificate,
                    LocalAccess(
                        (0..<map.count).map { map.directory(configuration.store, $0) }, key: local.key),
                    Archiving(services.map(\.store), configuration, log))
            } catch {
                for service in services { await service.close() }
                throw error
            }
        }
    }
}

extension TraylogServer: ServiceLifecycle.Service {
    /// Keeps live streams alive, and the figures of the app's metrics backend up to date, until the app is told to stop; then ends the
    /// streams.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown { [services, archiving] in
            async let measuring: Void = Self.measure(services)
            async let witnessing: Void = services[0].witness()
            async let archived: Void? = archiving?.run()
            try await services[0].answers.beat()
            await measuring
            await witnessing
            _ = await archived
        }
        for service in services { service.drain() }
    }

    /// Measures the stores every 15 seconds, until the task is cancelled, where an app's backend gets the figures.
    private static func measure(_ services: [HTTPService]) async {
        guard services[0].metrics.isShared else { return }
        while !Task.isCancelled {
            await HTTPService.measure(services)
            try? await Task.sleep(for: .seconds(15))
        }
    }
}

extension TraylogServer {
    /// Serves a store until the process is told to stop (SIGTERM, SIGINT), and closes it.
    ///
    /// Prints `listening on http://127.0.0.1:PORT` to standard output, and reads keys and certificate again on SIGHUP. Requests get
    /// ten seconds to end; the process ends then, whatever is left.
    ///
    /// - Throws: ``ConfigurationError``; ``UnusableAddress``; `TraylogError` when the store cannot be opened.
    public static func run(_ configuration: ServerConfiguration, parts: [ServerPart] = []) async throws {
        let setup = try await Setup(configuration, parts)
        Listener.allowManyConnections()
        let server = try await setup.open()
        let signals = server.reload.begin()
        defer { signals.cancel() }
        do {
            try await server.listen(configuration, parts)
        } catch {
            await server.close()
            throw error
        }
        await server.close()
    }

    /// Finds what is wrong with a configuration and its files, without opening the store.
    ///
    /// - Throws: ``ConfigurationError``.
    public static func check(_ configuration: ServerConfiguration, parts: [ServerPart] = []) async throws {
        _ = try await Setup(configuration, parts)
    }

    private func listen(_ settings: ServerConfiguration, _ parts: [ServerPart]) async throws {
        let service = services[0]
        let tls = certificate?.configuration
        // A program that has read the first line may use both.
        let (ports, told) = AsyncStream.makeStream(of: Int.self)
        var providers: (any ServiceLifecycle.Service)?
        if let address = settings.apns, let answering = parts.lazy.compactMap(\.providers).first {
            providers = Listener.application(
                CallbackResponder(callback: answering(service, responder.partitions)),
                .hostname(address.host, port: address.port),
                try Listener.tls(tls, askingFor: settings.apnsClients), admission: service.admission,
                log: service.log
            ) { told.yield($0) }
        }
        // The command line may ask as soon as the line is printed.
        let (locals, toldLocal) = AsyncStream.makeStream(of: Void.self)
        let local = LocalListener(
            access: localAccess, log: service.log,
            application: Listener.application(
                responder, .unixDomainSocket(path: localAccess.address), nil, routes: responder.routes,
                admission: service.admission, log: service.log
            ) { [localAccess, log = service.log] _ in
                do { try localAccess.publish() } catch { log.write([("localAccess", .string("\(error)"))]) }
                toldLocal.yield()
            }, onEnd: { toldLocal.yield() })
        let scheme = tls == nil ? "http" : "https"
        let app = Listener.application(
            responder, .hostname(settings.host, port: settings.port), tls, routes: responder.routes,
            admission: service.admission, log: service.log
        ) { port in
            _ = await locals.first { true }
            var lines = "listening on \(scheme)://\(Listener.text(settings.host)):\(port)\n"
            if let apns = settings.apns {
                // None comes when nobody can listen there; then the server ends, and says so.
                guard let port = await ports.first(where: { _ in true }) else { return }
                lines += "providers: https://\(Listener.text(apns.host)):\(port)\n"
            }
            FileHandle.standardOutput.write(Data(lines.utf8))
        }
        // The last one hears first that the server is to stop: live streams end before connections are waited for.
        var all: [any ServiceLifecycle.Service] = [local, app, self, LongestShutdown()]
        if let providers { all.insert(providers, at: 0) }
        if let certificate { all.insert(certificate, at: 0) }
        var configuration = ServiceGroupConfiguration(
            services: all, gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "traylog-server"))
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

    /// Answers the command line on this machine; where no socket can be made, the server goes on without.
    private struct LocalListener<Application: ServiceLifecycle.Service>: ServiceLifecycle.Service {
        let access: LocalAccess
        let log: ServiceLog
        let application: Application
        let onEnd: @Sendable () -> Void

        func run() async throws {
            access.clear()
            do {
                try await application.run()
            } catch {
                log.write([("localAccess", .string("\(error)"))])
                onEnd()
                try? await gracefulShutdown()
            }
            access.clear()
        }
    }

    /// Ends the process if the server has not ended soon after it was told to.
    private struct LongestShutdown: ServiceLifecycle.Service {
        func run() async throws {
            try? await gracefulShutdown()
            // Thousands of connections may take longer to end than anybody waits, and so may a disk. What was acknowledged is on disk.
            DispatchQueue(label: "traylog.end").asyncAfter(deadline: .now() + .milliseconds(9_500)) {
                ServerProcess.end(0)
            }
        }
    }

    private static func text(_ path: String) throws -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ConfigurationError("\(path) cannot be read")
        }
        return text.trimmingSpaces
    }

    private static func policy(_ path: String) throws -> WitnessPolicy {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(path) cannot be read")
        }
        do { return try WitnessPolicy(parsing: Array(bytes)) } catch { throw ConfigurationError("\(path): \(error)") }
    }

    private static func backend(_ parts: [ServerPart]) throws -> any ClusterBackend {
        guard let backend = parts.lazy.compactMap(\.cluster).first else {
            throw ConfigurationError("this server was built without clusters: it cannot have --cluster")
        }
        return backend
    }

    /// All partitions of a server share these; all nodes of a cluster, too.
    private typealias Common = (devices: any Devices, key: NotePrivateKey)

    private static func common(
        _ settings: ServerConfiguration, _ parts: [ServerPart], _ given: NotePrivateKey?, _ log: ServiceLog
    ) async throws -> Common {
        guard let cluster = settings.cluster else {
            let key = if let given { given } else { try await checkpointKey(in: settings.store) { $0 } }
            return (try DeviceFile(directory: settings.store), key)
        }
        let backend = try backend(parts)
        let devices = try await backend.devices(cluster, log: log)
        if let given { return (devices, given) }
        let key = try await checkpointKey(in: settings.store) { own in
            try await backend.checkpointKey(cluster, proposing: own, log: log)
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

    /// The keys of a server that is tried out: in no file, and printed once.
    struct MadeKeys: Sendable {
        /// The line of a keys file that knows the server key.
        let line: String
        /// Signs users' tokens.
        let secret = [UInt8].random(32)

        init() {
            let made = ServerKeys.made(scopes: KeyScope.allCases)
            line = made.line
            FileHandle.standardOutput.write(Data("key: \(made.key)\nsecret: \(secret.base64URL) kid: dev\n".utf8))
        }
    }
}
