/// Stored bytes that cannot be read as an event: a failure, never a refusal.
package struct CodecError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        /// The bytes are not what was written: run `traylog verify`, then restore a backup.
        case damaged
        /// Fewer bytes than their own header says: run `traylog verify`, then restore a backup.
        case truncated
        /// Written by a newer Traylog: use that one.
        case newer
        /// The payload was erased for good; header and digest are all that is left, and nothing is wrong.
        case erased
    }

    package let code: Code
    /// The event whose bytes they are; nil when the caller did not say.
    package let seq: UInt64?
    /// What is wrong, without what to do about it.
    package let reason: String

    package init(_ code: Code, seq: UInt64?, _ reason: String) {
        self.code = code
        self.seq = seq
        self.reason = reason
    }

    /// What is wrong and what to do about it.
    package var message: String {
        let subject = seq.map { "event \($0)" } ?? "an event"
        return switch code {
        case .damaged, .truncated:
            "\(subject) is damaged: \(reason); run `traylog verify`, then restore a backup"
        case .newer:
            "\(subject) was written by a newer version of Traylog: \(reason); open the store with that version"
        case .erased:
            "the content of \(subject) was erased: \(reason)"
        }
    }
}

extension CodecError: CustomStringConvertible {
    package var description: String { message }
}
