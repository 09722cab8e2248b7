/// An event that does not have the next revision of its stream: one before it is missing, or two have the same.
package struct RevisionFault: Error, Hashable, Sendable {
    package let seq: UInt64
    package let expected: UInt64
    package let found: UInt64

    package init(seq: UInt64, expected: UInt64, found: UInt64) {
        self.seq = seq
        self.expected = expected
        self.found = found
    }
}
