import Traylog

struct ReplayReport: Hashable, Sendable {
    var events: UInt64
    var users: UInt64
    var seconds: Double
    var identical: Bool
    /// The first difference, in words.
    var difference: String?
}

enum Replay {
    static func run(
        directory: String, options: StoreOptions = StoreOptions(), rebuild: Bool,
        progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(TraylogError) -> ReplayReport {
        preconditionFailure()
    }
}

struct VerificationReport: Hashable, Sendable {
    var findings: [String]
    var events: UInt64
    var users: UInt64
}

enum Verification {
    static func run(
        directory: String, progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(TraylogError) -> VerificationReport {
        preconditionFailure()
    }
}
