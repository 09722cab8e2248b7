import ArgumentParser
import Foundation
import TraylogClient
import TraylogClientHTTP

@main
struct TrayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "traylog-tray",
        abstract: "A tray in the terminal, which works offline too.",
        discussion: """
            In the window, ? shows all keys: Enter opens an item, r reads, a archives, d deletes, z snoozes, l opens its \
            link, / finds, u shows unread items only, t shows threads, U undoes, q quits. With --json it takes one JSON object a \
            line and answers with one, and prints a line for each change.
            """,
        version: "0.1.0")

    @Option(help: ArgumentHelp("The server's address.", valueName: "URL"))
    var server: String

    @Option(help: ArgumentHelp("Whose tray.", valueName: "U"))
    var user: String

    @Option(
        help: ArgumentHelp(
            "The file with the user's token; it is read again when the token has expired.", valueName: "F"))
    var tokenFile: String

    @Option(help: ArgumentHelp("Where the outbox and the replica are kept, by one process at a time.", valueName: "D"))
    var directory: String

    @Option(
        help: ArgumentHelp(
            "The address that the server had before, if it has moved: the directory goes along once the server shows the same store.",
            valueName: "URL"))
    var movedFrom: String?

    @Option(help: ArgumentHelp("The name of this device, which goes along with each command.", valueName: "NAME"))
    var device: String?

    @Option(help: ArgumentHelp("Where attachments are put, each under its id.", valueName: "URL"))
    var upload: String?

    @Flag(help: "Talk in JSON lines.")
    var json = false

    @Flag(help: "Keep the server's tree heads, and say when it rewrote its log.")
    var witness = false

    @Option(
        help: ArgumentHelp(
            "Take nothing from a server whose log these witnesses have not seen (C2SP tlog-policy).", valueName: "F"))
    var witnessPolicy: String?

    @Option(
        help: ArgumentHelp(
            "Nor, while the log has newer events, from one that they saw last so long ago.", valueName: "SECONDS"))
    var maxWitnessAge: Int?

    func validate() throws {
        for address in [server, upload, movedFrom].compactMap({ $0 }) {
            guard let url = URL(string: address), ["http", "https"].contains(url.scheme?.lowercased()), url.host != nil
            else {
                throw ValidationError("\(address) is no address: give one such as http://127.0.0.1:8080")
            }
        }
        try Self.check(user, "user")
        if let device { try Self.check(device, "device") }
        if maxWitnessAge != nil, witnessPolicy == nil {
            throw ValidationError("'--max-witness-age' goes with '--witness-policy'.")
        }
    }

    private static func check(_ text: String, _ name: String) throws {
        let isPlain = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
        guard (1...256).contains(text.utf8.count), isPlain else {
            throw ValidationError("\(name) must have 1 to 256 bytes, without control characters")
        }
    }

    func run() async throws {
        guard let url = URL(string: server) else { throw ExitCode(64) }
        guard FileManager.default.isReadableFile(atPath: tokenFile) else {
            throw Self.failure("\(tokenFile) cannot be read: put the user's token in it", 66)
        }
        var options = TrayClientOptions()
        options.device = device
        options.witness = witness
        options.witnessAgeLimit = maxWitnessAge
        if let witnessPolicy {
            guard let text = try? String(contentsOfFile: witnessPolicy, encoding: .utf8) else {
                throw Self.failure("\(witnessPolicy) cannot be read: it must hold a policy of witnesses", 66)
            }
            options.witnessPolicy = text
        }
        options.movedFrom = movedFrom.flatMap { URL(string: $0) }.map { HTTPTransport.origin($0) }
        let client: TrayClient
        do {
            client = try TrayClient(
                user: user, directory: directory,
                transport: HTTPTransport(server: url, uploads: upload.flatMap { URL(string: $0) }),
                tokens: TokenFile(URL(fileURLWithPath: tokenFile)), options: options)
        } catch {
            throw Self.failure(error.message, error.exitCode)
        }
        for damage in await client.outbox.damage { LineOutput.error("traylog-tray: \(damage)") }
        if json {
            await Conversation(client).run()
        } else {
            try await Screen(client).run()
        }
        await client.close()
    }

    private static func failure(_ message: String, _ code: Int32) -> ExitCode {
        LineOutput.error("traylog-tray: \(message)")
        return ExitCode(code)
    }
}

extension DeviceFailure {
    /// The program's exit code.
    fileprivate var exitCode: Int32 {
        switch code {
        case .inUse: 69
        case .foreign, .invalidOption: 65
        default: 74
        }
    }
}
