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
}
