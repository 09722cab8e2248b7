/// A failure of the storage layer: what happened, where, and what to do next.
@usableFromInline package struct LMDBError: Error, Hashable, Sendable {
    /// What went wrong, for a caller that reacts to it.
    package var code: Code
    /// The call that failed, such as `put` or `open`.
    package var operation: String
    /// The file or directory concerned, where one is known.
    package var path: String?
    /// What happened, where, and what to do next: one or two sentences for a person.
    package var message: String
    /// The process that is in the way, for ``Code/writerLocked``.
    package var holderPID: Int32?

    package init(
        _ code: Code, operation: String, path: String? = nil, message: String, holderPID: Int32? = nil
    ) {
        self.code = code
        self.operation = operation
        self.path = path
        self.message = message
        self.holderPID = holderPID
    }
}

extension LMDBError: CustomStringConvertible {
    @usableFromInline package var description: String {
        path.map { "\(message) [\(operation), \($0)]" } ?? "\(message) [\(operation)]"
    }
}
