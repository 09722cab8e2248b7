import Dispatch
import Foundation
import Traylog

/// Reads the keys file again when the process is told to (SIGHUP).
///
/// What stands on a key that is gone ends then. A file that cannot be read changes nothing, and the log says so.
struct KeysReload: Sendable {
    private let file: String?
    /// Lines of keys that are in no file.
    private let made: [String]
    private let authenticator: Authenticator
    private let answers: OpenAnswers
    private let log: ServiceLog

    /// - Parameter file: nil for a server without one, which nothing ends or changes then.
    init(
        file: String?, made: [String], _ authenticator: Authenticator, _ answers: OpenAnswers, _ log: ServiceLog
    ) {
        (self.file, self.made, self.authenticator, self.answers) = (file, made, authenticator, answers)
        self.log = log
    }

    /// Begins to listen for the signal, until what it returns is cancelled.
    func begin() -> any DispatchSourceSignal {
        // The source hears of the signal, which would end the process.
        signal(SIGHUP, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "traylog.keys"))
        source.setEventHandler { reload() }
        source.activate()
        return source
    }

    private static func changed(_ file: String) -> Timestamp? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return (attributes?[.modificationDate] as? Date)
            .flatMap { Int64(exactly: ($0.timeIntervalSince1970 * 1_000).rounded(.down)) }.map(
                Timestamp.init(milliseconds:))
    }

    private func reload() {
        guard let file else { return log.write([("keys", "there is no keys file to read again")]) }
        do {
            var keys = try ServerKeys(file: file)
            guard !keys.isEmpty else { throw ConfigurationError("\(file) has no key") }
            for line in made { try keys.add(line: line) }
            authenticator.replace(keys)
            answers.check()
            var members: [(name: String, value: JSONValue)] = [("keys", "read again"), ("count", .int(keys.count))]
            // A copy that is older than the change says here that it is one.
            if let time = Self.changed(file) { members.append(("modified", .string(time.description))) }
            log.write(members)
        } catch {
            log.write([("keys", "not read again, those from before stay valid"), ("error", .string("\(error)"))])
        }
    }
}
