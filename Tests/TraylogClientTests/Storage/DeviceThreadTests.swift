import Testing
import TraylogPlatform

@testable import TraylogClient

/// The thread of a device's storage.
@Suite struct DeviceThreadTests {
    @Test func aSystemWithoutRoomForTheThreadIsAnErrorThatSaysWhatToRaise() {
        let failure = #expect(throws: DeviceFailure.self) {
            try ThreadRefused.$simulated.withValue({ $0 == "traylog-device" }) { _ = try DeviceThread() }
        }
        #expect(failure?.message.contains("ulimit -u") == true)
    }
}
