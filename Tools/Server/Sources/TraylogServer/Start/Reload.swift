import Dispatch
import Foundation
import Traylog

/// Reads the files that decide who may ask again when the process is told to (SIGHUP): server keys, JWKs of users' tokens, and the
/// certificate.
///
/// What stands on a key that is gone ends then. A file that cannot be read changes nothing, and the log says so.
struct Reload: Sendable {
    private let files: (keys: String?, tokens: [String])
    /// Keys that are in no file.
    private let made: TraylogServer.MadeKeys?
    private let certificate: ServerCertificate?
    private let authenticator: Authenticator
    private let answers: OpenAnswers
    private let log: ServiceLog

    init(
        _ configuration: ServerConfiguration, _ made: TraylogServer.MadeKeys?, _ certificate: ServerCertificate?,
        _ authenticator: Authenticator, _ answers: OpenAnswers, _ log: ServiceLog
    ) {
        files = (configuration.keys, configuration.userTokenKeys)
        (self.made, self.certificate, self.log) = (made, certificate, log)
        (self.authenticator, self.answers) = (authenticator, answers)
    }

    /// Begins to listen for the signal, until what it returns is cancelled.
    func begin() -> Task<Void, Never> {
        let (signals, heard) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The source hears of the signal, which would end the process.
        signal(SIGHUP, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "traylog.reload"))
        source.setEventHandler { heard.yield() }
        source.activate()
        return Task {
            defer { source.cancel() }
            for await _ in signals { await reload() }
        }
    }

    private static func changed(_ file: String) -> Timestamp? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return (attributes?[.modificationDate] as? Date)
            .flatMap { Int64(exactly: ($0.timeIntervalSince1970 * 1_000).rounded(.down)) }.map(
                Timestamp.init(milliseconds:))
    }

    private func reload() async {
        await read("keys", files.keys.map { [$0] } ?? []) {
            var keys = try ServerKeys(file: files.keys)
            guard !keys.isEmpty else { throw ConfigurationError("\(files.keys ?? "") has no key") }
            if let made { try keys.add(line: made.line) }
            authenticator.replace(keys)
            return keys.count
        }
        await read("userTokenKeys", files.tokens) {
            let tokens = try await UserTokens(files: files.tokens, secret: made?.secret)
            authenticator.replace(tokens)
            return tokens.count
        }
        answers.check()
        // It says itself what it has read.
        certificate?.reload()
    }

    /// Reads files of one kind again, and says in the log what came of it.
    ///
    /// - Parameter replace: returns how many there are now.
    private func read(_ kind: String, _ files: [String], _ replace: () async throws -> Int) async {
        guard !files.isEmpty else {
            if kind == "keys" { log.write([("keys", "there is no keys file to read again")]) }
            return
        }
        do {
            let count = try await replace()
            var members: [(name: String, value: JSONValue)] = [(kind, "read again"), ("count", .int(count))]
            // A copy that is older than the change says here that it is one.
            if let time = files.compactMap(Self.changed).max() {
                members.append(("modified", .string(time.description)))
            }
            log.write(members)
        } catch {
            log.write([(kind, "not read again, those from before stay valid"), ("error", .string("\(error)"))])
        }
    }
}
