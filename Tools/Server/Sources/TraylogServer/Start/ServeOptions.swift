import ArgumentParser
import Foundation
@_spi(Wire) import Traylog
@_spi(JSON) import TraylogJSON

/// The options of the server: by flag, by environment (`TRAYLOG_…`), or by a file, in this order.
package struct ServeOptions: ParsableArguments {
    package init() {}

    @Option(help: "The store's directory; it is made where it is missing.")
    package var store: String?

    @Option(help: "HOST:PORT; port 0 takes any.")
    var listen: String?

    @Option(help: "A file with the certificate chain (PEM).")
    var tlsCertificate: String?

    @Option(help: "A file with the certificate's key (PEM).")
    var tlsKey: String?

    @Option(help: "A file with server keys, one a line, as 'key new' prints them.")
    package var keys: String?

    @Option(help: "A file with a JWK that checks users' tokens; may be repeated.")
    var userTokenKey: [String] = []

    @Option(help: "A file with the key that signs checkpoints, as 'traylog tree-head' uses it.")
    package var checkpointKey: String?

    @Option(help: "A file with the witnesses that must cosign checkpoints, and their quorum (C2SP tlog-policy).")
    package var witnessPolicy: String?

    @Option(help: "How often a checkpoint is sent to witnesses at most (10s, 1m, 1h); 1m if not given.")
    var witnessInterval: String?

    @Option(
        help: "Experimental: HOST:PORT for push providers, as Apple's service has it (HTTP/2); needs a certificate.")
    var apnsListen: String?

    @Option(help: "A file with the certificates (PEM) that must have signed a push provider's; needed beyond loopback.")
    var apnsClients: String?

    @Flag(help: "A proxy in front of the server does TLS, so it may listen on any address.")
    var behindProxy = false

    @Option(help: "An origin whose web pages may call the API, such as https://app.example.org; may be repeated.")
    var allowOrigin: [String] = []

    @Option(help: "Requests a minute for each user; 0 for no limit.")
    var rateUser: Int?

    @Option(help: "Requests a minute for each key; 0 for no limit.")
    var rateKey: Int?

    @Flag(help: "Do not serve the console.")
    var noConsole = false

    @Flag(help: "Do not serve the modules for web pages, /bell/v1.")
    var noBell = false

    @Flag(help: "Log the names of users, too.")
    var logUsers = false

    @Flag(help: "Record in the log who reads a person's history, once an hour for a key, person and purpose.")
    var recordAccess = false

    @Option(help: "The last backup must be younger (12h, 1d, 2w), or the store needs attention.")
    var maxBackupAge: String?

    @Option(help: "The last clean verification must be younger, or the store needs attention.")
    var maxVerifiedAge: String?

    @Option(
        help:
            "The last checkpoint with a quorum of witnesses must be younger, unless it has the newest event; else the store needs attention."
    )
    var maxWitnessAge: String?

    @Option(help: "Archive the log as files in this directory, which 'traylog restore' makes the log from again.")
    var archive: String?

    @Option(help: "A shell command that copies each file of the archive elsewhere: %p is its path, %f its name.")
    var ship: String?

    @Option(help: "A shell command that deletes a copy that others have replaced: %f is its name.")
    var shipDelete: String?

    @Option(
        help: "An event must be in the archive, and in its copies, before it is so old, or the store needs attention.")
    var maxArchiveLag: String?

    @Flag(help: "For trying out: makes a key and a secret for tokens at start, and prints them. Loopback only.")
    var dev = false

    @Flag(help: "Check the options and exit.")
    package var checkConfig = false

    @Option(help: "A file with options, a JSON object: {\"listen\":\"127.0.0.1:8080\"}.")
    package var config: String?

    @OptionGroup(title: "Cluster (experimental)") var cluster: ClusterOptions
}

extension ServerConfiguration {
    package init(_ options: ServeOptions, environment: [String: String]) throws {
        let names = OptionNames()
        let (environment, unknown) = try names.values(of: environment)
        let file = try Self.read(options.config ?? environment["config"], names)
        func text(_ flag: String?, _ name: String) -> String? { flag ?? environment[name] ?? file[name] }
        func isSet(_ flag: Bool, _ name: String) throws -> Bool {
            switch text(flag ? "true" : nil, name) {
            case nil, "false", "0", "": false
            case "true", "1": true
            default: throw ConfigurationError("\(name) must be true or false")
            }
        }
        func number(_ flag: Int?, _ name: String) throws -> Int {
            guard let text = text(flag.map(String.init), name) else { return 0 }
            guard let number = WireNumber(text)?.within(0...RateLimits.most) else {
                throw ConfigurationError("--\(name) must be 0 to \(RateLimits.most) requests a minute, not \(text)")
            }
            return number
        }
        guard let store = text(options.store, "store") else {
            throw ConfigurationError("--store DIR must say where the store is")
        }
        self.init(store: store)
        unknownVariables = unknown
        (host, port) = try Self.address(text(options.listen, "listen") ?? "127.0.0.1:8080", "--listen")
        certificate = text(options.tlsCertificate, "tls-certificate")
        certificateKey = text(options.tlsKey, "tls-key")
        keys = text(options.keys, "keys")
        userTokenKeys = options.userTokenKey
        if userTokenKeys.isEmpty, let names = text(nil, "user-token-key") {
            userTokenKeys = names.split(separator: ":").map(String.init)
        }
        checkpointKey = text(options.checkpointKey, "checkpoint-key")
        apns = try text(options.apnsListen, "apns-listen").map { try Self.address($0, "--apns-listen") }
        apnsClients = text(options.apnsClients, "apns-clients")
        isBehindProxy = try isSet(options.behindProxy, "behind-proxy")
        isDev = try isSet(options.dev, "dev")
        hasPages = try !isSet(options.noConsole, "no-console")
        var origins = options.allowOrigin
        if origins.isEmpty, let names = text(nil, "allow-origin") {
            origins = names.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        allowedOrigins = origins
        rateUser = try number(options.rateUser, "rate-user")
        rateKey = try number(options.rateKey, "rate-key")
        logsUsers = try isSet(options.logUsers, "log-users")
        recordsAccess = try isSet(options.recordAccess, "record-access")
        hasBell = try !isSet(options.noBell, "no-bell")
        maxBackupAge = text(options.maxBackupAge, "max-backup-age")
        maxVerifiedAge = text(options.maxVerifiedAge, "max-verified-age")
        maxWitnessAge = text(options.maxWitnessAge, "max-witness-age")
        archive = text(options.archive, "archive")
        ship = text(options.ship, "ship")
        shipDelete = text(options.shipDelete, "ship-delete")
        maxArchiveLag = text(options.maxArchiveLag, "max-archive-lag")
        witnessPolicy = text(options.witnessPolicy, "witness-policy")
        witnessInterval = text(options.witnessInterval, "witness-interval") ?? witnessInterval
        let given = ClusterOptions(
            cluster: text(options.cluster.cluster, "cluster"), stream: text(options.cluster.stream, "stream"),
            advertise: text(options.cluster.advertise, "advertise"), monitor: text(options.cluster.monitor, "monitor"),
            seed: text(options.cluster.seed, "seed"), partitions: text(options.cluster.partitions, "partitions"),
            allowUnsafeLog: try isSet(options.cluster.allowUnsafeLog, "allow-unsafe-log"))
        cluster = try given.settings(isDev: isDev)
        try check()
    }

    private static func read(_ path: String?, _ names: OptionNames) throws -> [String: String] {
        guard let path else { return [:] }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(path) cannot be read")
        }
        let value: JSONValue
        do { value = try JSONValue(json: Array(data)) } catch { throw ConfigurationError("\(path): \(error.message)") }
        guard case .object(let members) = value else { throw ConfigurationError("\(path) must be one JSON object") }
        return try members.reduce(into: [:]) { settings, member in
            guard names.ofFile.contains(member.name) else {
                throw ConfigurationError(
                    "\(path): \(member.name) is no option\(names.near(member.name).map { ". Did you mean \($0)?" } ?? "")"
                )
            }
            settings[member.name] =
                switch member.value {
                case .string(let text), .number(let text): text
                case .bool(let flag): "\(flag)"
                case .array(let values):
                    // An origin has colons.
                    values.compactMap(\.string).joined(separator: member.name == "allow-origin" ? "," : ":")
                default: throw ConfigurationError("\(path): \(member.name) must be text, a number or a boolean")
                }
        }
    }

    private static func address(_ text: String, _ option: String) throws -> (host: String, port: Int) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw ConfigurationError("\(option) must be HOST:PORT, not \(text)")
        }
        let host = text[..<colon].replacing("[", with: "").replacing("]", with: "")
        return (host.isEmpty ? "0.0.0.0" : String(host), Int(port))
    }
}
