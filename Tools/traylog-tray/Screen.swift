import Foundation
import TraylogClient

/// The tray in a terminal.
struct Screen {
    let client: TrayClient

    init(_ client: TrayClient) { self.client = client }

    func run() async throws {
        await client.start()
        await client.close()
    }
}
