import Foundation
@_spi(Operations) import Traylog

/// How a server serves a store.
///
/// ```swift
/// var configuration = ServerConfiguration(store: "/var/lib/traylog")
/// configuration.keys = "/etc/traylog/keys"
/// ```
public struct ServerConfiguration: Sendable {
    /// The store's directory; it is made where it is missing.
    public var store: String
    /// The address to listen on.
    ///
    /// Any other than loopback needs a certificate, or ``isBehindProxy``.
    public var host = "127.0.0.1"
    /// The port to listen on; 0 takes any.
    public var port = 8080
    /// A file with the certificate chain (PEM); nil for HTTP without TLS.
    public var certificate: String?
    /// A file with the certificate's key (PEM).
    public var certificateKey: String?
    /// A file with server keys, one a line, as `traylog-server key new` prints them.
    public var keys: String?
    /// Files with a JWK (RFC 7517) each, which check users' tokens.
    public var userTokenKeys: [String] = []
    /// A file with the key that signs checkpoints; nil for one that the server makes beside the store.
    public var checkpointKey: String?
    /// A file with the witnesses that cosign checkpoints and how many are asked for (C2SP tlog-policy); nil for none.
    public var witnessPolicy: String?
    /// How often a checkpoint is sent to witnesses at most, such as `1m`.
    public var witnessInterval = "1m"
    /// Whether a proxy in front does TLS and says who the peer is.
    public var isBehindProxy = false
    /// Whether to make a key and a secret for tokens, and print them: for trying out, on loopback only.
    public var isDev = false
    /// Whether to serve the pages of the server's parts.
    package var hasPages = true
    /// Whether to serve the modules for web pages, `/bell/v1`.
    public var hasBell = true
    /// The origins whose web pages may call the API, such as `https://app.example.org`.
    public var allowedOrigins: [String] = []
    /// Requests a minute for each user; 0 for no limit.
    public var rateUser = 0
    /// Requests a minute for each key; 0 for no limit.
    public var rateKey = 0
    /// Whether the log has the names of users.
    public var logsUsers = false
    /// Whether the log says who reads what was stored about a person.
    public var recordsAccess = false
    /// How old the last backup may be before the store needs attention, such as `1d`; nil for any age.
    public var maxBackupAge: String?
    /// The same for the last clean verification.
    public var maxVerifiedAge: String?
    /// The same for the last checkpoint with a quorum of witnesses, unless that one has the newest event.
    public var maxWitnessAge: String?
    /// The directory that the log is archived to; nil for none.
    ///
    /// A server with partitions has a directory for each of them there.
    public var archive: String?
    /// A shell command that copies a file of the archive, `%p` or `%f`, elsewhere; nil for none.
    public var ship: String?
    /// A shell command that deletes a copy, `%f`; nil for none.
    public var shipDelete: String?
    /// How old an event may be that is not in the archive, or not in its copies, before the store needs attention, such as `1m`;
    /// nil for any age.
    public var maxArchiveLag: String?
    /// Where push providers send to; nil for nowhere.
    package var apns: (host: String, port: Int)?
    /// The certificates that sign the push providers' own.
    package var apnsClients: String?
    /// Variables of the environment, such as `TRAYLOG_X`, that set nothing.
    var unknownVariables: [String] = []
    /// Nil for a server on its own.
    package var cluster: ClusterSettings?

    /// The defaults: loopback, port 8080, and no keys.
    public init(store: String) { self.store = store }

    package var partitions: PartitionMap { cluster?.partitions ?? PartitionMap(count: 1) }

    var isLoopback: Bool { Self.isLoopback(host) }

    static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isIPv4 = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
        return host == "localhost" || host == "::1" || (isIPv4 && parts[0] == "127")
    }

    /// The settings that requests need.
    ///
    /// - Throws: ``ConfigurationError`` for an origin that is none.
    package func service() throws -> ServiceConfiguration {
        ServiceConfiguration(
            directory: store, rateUser: rateUser, rateKey: rateKey, logsUsers: logsUsers,
            recordsAccess: recordsAccess, isBehindProxy: isBehindProxy,
            isSecure: certificate != nil || isBehindProxy, origins: try AllowedOrigins(allowedOrigins),
            hasBell: hasBell, healthLimits: try healthLimits())
    }

    /// How long to wait between two checkpoints.
    func witnessSpan() throws -> Duration {
        guard let age = Age(witnessInterval), age.milliseconds >= 1_000, age.milliseconds <= 7 * 86_400_000 else {
            throw ConfigurationError("--witness-interval must be 1s to 1w, such as 1m, not \(witnessInterval)")
        }
        return .milliseconds(age.milliseconds)
    }

    private func healthLimits() throws -> StoreHealth.Limits {
        func age(_ text: String?, _ option: String) throws -> Age? {
            guard let text else { return nil }
            guard let age = Age(text) else {
                throw ConfigurationError("\(option) must be an age such as 12h, 1d or 2w, not \(text)")
            }
            return age
        }
        var limits = StoreHealth.Limits()
        limits.backup = try age(maxBackupAge, "--max-backup-age")
        limits.verification = try age(maxVerifiedAge, "--max-verified-age")
        limits.witness = try age(maxWitnessAge, "--max-witness-age")
        limits.archive = try age(maxArchiveLag, "--max-archive-lag")
        return limits
    }

    /// - Throws: ``ConfigurationError`` for options that do not go together.
    package func check() throws {
        _ = try service()
        _ = try witnessSpan()
        if witnessPolicy != nil, cluster != nil {
            throw ConfigurationError("--witness-policy goes with no --cluster: a node has no checkpoint of its own")
        }
        if ship != nil, archive == nil {
            throw ConfigurationError("--ship needs --archive: it copies the files of that")
        }
        if shipDelete != nil, ship == nil { throw ConfigurationError("--ship-delete goes with --ship") }
        guard (certificate == nil) == (certificateKey == nil) else {
            throw ConfigurationError("--tls-certificate and --tls-key go together")
        }
        if isDev, !isLoopback { throw ConfigurationError("--dev serves loopback only, not \(host)") }
        if !isLoopback, certificate == nil, !isBehindProxy {
            throw ConfigurationError(
                "\(host) is not loopback: give --tls-certificate and --tls-key, or --behind-proxy where a proxy does TLS"
            )
        }
        if let apns {
            guard certificate != nil else {
                throw ConfigurationError("--apns-listen needs --tls-certificate and --tls-key: providers speak HTTP/2")
            }
            guard Self.isLoopback(apns.host) || apnsClients != nil else {
                throw ConfigurationError(
                    "\(apns.host) is not loopback: --apns-clients must say whose certificates providers show")
            }
        }
        if !isDev, keys == nil {
            throw ConfigurationError(
                "there are no keys: run 'traylog-server key new --scope publish,users', put the second line that it prints "
                    + "into a file, and name that with --keys; or try the server with --dev")
        }
    }
}
