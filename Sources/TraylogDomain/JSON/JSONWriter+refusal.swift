extension JSONWriter {
    /// A refusal.
    ///
    /// - Parameter line: the number, from 1, of the command's line, where it came from one.
    package mutating func write(_ refusal: Refusal, line: Int? = nil) {
        beginObject()
        member("error", refusal.name)
        member("message", refusal.message)
        if let line { member("line", line) }
        endObject()
    }
}
