import Foundation
import NIOCertificateReloading
import NIOSSL
import ServiceLifecycle

/// The certificate that TLS shows, and its key: read again every minute, and when the process is told to (SIGHUP).
///
/// Connections that are open keep theirs. Files that cannot be read, or do not belong together, change nothing; the log says so.
struct ServerCertificate: ServiceLifecycle.Service {
    private static let pause = Duration.seconds(60)

    let configuration: TLSConfiguration
    private let reloader: TimedCertificateReloader

    /// - Returns: nil for a server without TLS.
    /// - Throws: ``ConfigurationError``.
    init?(_ settings: ServerConfiguration, _ log: ServiceLog) throws {
        guard let certificate = settings.certificate, let key = settings.certificateKey else { return nil }
        let chain = try Listener.certificates(certificate).map { NIOSSLCertificateSource.certificate($0) }
        guard let privateKey = try? NIOSSLPrivateKey(file: key, format: .pem) else {
            throw ConfigurationError("\(key) has no private key (PEM) that can be read")
        }
        let given = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain, privateKey: .privateKey(privateKey))
        guard (try? NIOSSLContext(configuration: given)) != nil else {
            throw ConfigurationError("\(key) is not the key of \(certificate)")
        }
        let sources = TimedCertificateReloader.Configuration(
            refreshInterval: Self.pause,
            certificateSource: .init(location: .memory { try Self.read(certificate, "CERTIFICATE") }, format: .pem),
            privateKeySource: .init(location: .memory { try Self.read(key, "PRIVATE KEY") }, format: .pem)
        ) { sources in
            sources.onCertificateLoaded = { change in
                let (before, now) = (change.previousX509CertificateChain, change.currentX509CertificateChain)
                guard let before, before != now, let end = now.first?.notValidAfter else { return }
                log.write([("certificate", "read again"), ("validUntil", .string(end.ISO8601Format()))])
            }
            sources.onCertificateLoadFailed = { failure in
                log.write([
                    ("certificate", "not read again, the one from before stays"), ("file", .string(certificate)),
                    ("error", .string("\(failure.error)")),
                ])
            }
        }
        do {
            reloader = try TimedCertificateReloader.makeReloaderValidatingSources(configuration: sources)
            var configuration = try TLSConfiguration.makeServerConfiguration(certificateReloader: reloader)
            configuration.minimumTLSVersion = .tlsv12
            self.configuration = configuration
        } catch {
            throw ConfigurationError("\(certificate) and \(key) cannot be used: \(error)")
        }
    }

    func run() async throws { try await reloader.run() }

    /// A failure is in the log.
    func reload() { try? reloader.reload() }

    /// The parts of a PEM file with this label, or a longer one: other parts, such as a curve's parameters, may stand beside them.
    private static func read(_ path: String, _ label: String) throws -> [UInt8] {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(path) cannot be read")
        }
        var (parts, isInside) = ("", false)
        for bytes in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            let line = String(decoding: bytes, as: UTF8.self)
            if line.hasPrefix("-----BEGIN ") { isInside = line.hasSuffix("\(label)-----") }
            if isInside { parts += line + "\n" }
            if line.hasPrefix("-----END ") { isInside = false }
        }
        return Array(parts.utf8)
    }
}
