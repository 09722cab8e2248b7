import Foundation

/// The library `Tests/Torture/faults.c` under this process, which lets writes and syncs fail.
@safe
package struct FaultInjector: Sendable {
    package static let source = SharedLibrary.source("Torture/faults.c")

    private typealias Arm = @convention(c) (UnsafePointer<CChar>, Int, Int32, Int32, Int32) -> Void
    private typealias Lift = @convention(c) () -> Void
    private typealias Number = @convention(c) () -> Int
    private typealias Kind = @convention(c) () -> Int32

    private let armFunction: Arm
    private let liftFunction: Lift
    private let countFunction: Number
    private let firedFunction: Number
    private let kindFunction: Kind

    /// Nil when the process was started without the library.
    package init?() {
        guard let arm: Arm = unsafe Self.function("arm"), let lift: Lift = Self.function("lift"),
            let count: Number = Self.function("count"), let fired: Number = Self.function("fired"),
            let kind: Kind = Self.function("kind")
        else { return nil }
        unsafe armFunction = arm
        (liftFunction, countFunction, firedFunction, kindFunction) = (lift, count, fired, kind)
    }

    private static func function<Function>(_ name: String) -> Function? {
        guard let symbol = unsafe dlsym(nil, "traylog_faults_\(name)") else { return nil }
        return unsafe unsafeBitCast(symbol, to: Function.self)
    }

    /// Restarts the count of operations on files below the directory, and lets one fail; `at` 0 lets none.
    package func arm(_ directory: String, at number: Int, _ fault: Fault) {
        unsafe armFunction(
            directory, number, fault.error.number, Int32(fault.effect.rawValue), fault.lasts ? 1 : 0)
    }

    package func lift() { liftFunction() }

    /// Operations since it was armed.
    package var count: Int { countFunction() }

    /// The number of failed operations.
    package var fired: Int { firedFunction() }

    /// Whether the first failure was a write or a sync of the data file that a commit needs, not one that only reserves room.
    package var concernsData: Bool { (1...3).contains(kindFunction()) }
}
