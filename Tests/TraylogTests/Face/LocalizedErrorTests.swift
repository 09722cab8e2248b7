import Foundation
import Testing
import Traylog
import TraylogFoundation

@Suite struct LocalizedErrorTests {
    @Test(
        arguments: [
            TraylogError.refused(.notSnoozed(3)), Refusal.endReached,
            TraylogError.failed(StoreFailure(code: .diskFull, message: "no room")),
            StoreFailure(code: .closed, message: "closed"),
        ] as [any Error])
    func anErrorsLocalizedDescriptionIsItsDescription(error: any Error) {
        #expect(error.localizedDescription == "\(error)")
    }

    @Test func aDateThatIsNoNumberIsRefusedAndTrapsNothing() async throws {
        let store = try Store.temporary()
        for seconds in [Double.nan, -.infinity, .infinity, 1e300] {
            let time = Timestamp(Date(timeIntervalSince1970: seconds))
            let refused = await #expect(throws: TraylogError.self) {
                try await store.notify("ann", Content(title: "1", expiresAt: time))
            }
            #expect(refused?.refusal?.code == .invalid)
        }
        await store.close()
    }
}
