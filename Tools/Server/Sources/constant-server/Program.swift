import Foundation
import Hummingbird
import Logging

/// Answers every request with the same bytes: what the server's answers are measured beside.
///
/// Its argument is how many bytes.
@main
struct Program {
    private struct Constant: HTTPResponder {
        typealias Context = BasicRequestContext

        let bytes: ByteBuffer

        func respond(to request: Request, context: Context) async throws -> Response {
            Response(status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: bytes))
        }
    }

    static func main() async throws {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 200
        let app = Application(
            responder: Constant(bytes: ByteBuffer(repeating: UInt8(ascii: "x"), count: count)),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                let line = "listening on http://127.0.0.1:\(channel.localAddress?.port ?? 0)\n"
                FileHandle.standardOutput.write(Data(line.utf8))
            },
            logger: Logger(label: "constant", factory: { _ in SwiftLogNoOpLogHandler() }))
        try await app.runService()
    }
}
