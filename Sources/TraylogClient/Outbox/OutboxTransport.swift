/// Sends entries to their destination.
///
/// An app may write its own.
///
/// Both functions are called for one entry of a lane at a time, each time with the same id, and may be cancelled.
public protocol OutboxTransport: Sendable {
    /// Uploads the attachment of an entry, before the entry is sent.
    ///
    /// - Parameters:
    ///   - path: a copy of the file, which stays until the entry is over.
    ///   - progress: takes the fraction that has arrived, 0…1.
    /// - Returns: where it is; it comes back with the entry as ``OutboxEntry/Attachment/location``.
    func upload(
        _ entry: OutboxEntry, file path: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(OutboxFailure) -> String

    /// Sends an entry, under its id as idempotency key.
    ///
    /// - Returns: data to keep with the entry, such as its number on the server.
    func send(_ entry: OutboxEntry) async throws(OutboxFailure) -> [UInt8]

    /// Whether the server can be reached, asked while there is no connection, before something is sent. True when that
    /// is not known: then the entry itself is the attempt.
    func isReachable() async -> Bool
}

extension OutboxTransport {
    /// Rejects every attachment.
    public func upload(
        _ entry: OutboxEntry, file path: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(OutboxFailure) -> String {
        throw .reject(code: "noUpload", "This transport uploads no attachments.")
    }

    /// Leaves it to the entry itself.
    public func isReachable() async -> Bool { true }
}

/// The reason why an entry could not be uploaded or sent.
public enum OutboxFailure: Error, Hashable, Sendable {
    /// No connection: refused, unreachable, not resolved. It counts as no attempt.
    case offline(String)
    /// Something else answered in the server's place, such as a network's sign-in page or a proxy: as ``offline(_:)``, but
    /// the entry may have arrived.
    case unreachable(String)
    /// A temporary failure: silence, a broken connection, a busy server. `seconds` is how long the server asks to wait.
    case retry(after: Double? = nil, code: String, String)
    /// The credentials have expired: the lane waits for new ones. It counts as no attempt.
    case authenticationRequired(String)
    /// The server will never take it.
    case reject(code: String, String)
}
