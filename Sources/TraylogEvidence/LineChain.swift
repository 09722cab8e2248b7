import TraylogAudit

/// A hash over lines in their order: SHA-256(the hash so far ‖ the line, without its newline), from 32 zero bytes on.
///
/// The last line of a report that was made with its contents, and of a person's file, is `{"chain":HASH}` over all lines
/// before it, so that no byte of them changes unnoticed.
@_spi(Operations) public struct LineChain: Hashable, Sendable, Codable {
    private enum CodingKeys: String, CodingKey { case hash = "chain" }

    /// The hash over all lines so far.
    public private(set) var hash: MerkleHash

    /// The chain before the first line: 32 bytes of zero.
    public init() { hash = MerkleHash(bytes: [UInt8](repeating: 0, count: 32)) ?? .ofEmptyTree }

    /// Goes on with a line.
    public mutating func add(_ line: [UInt8]) {
        let before = hash.bytes
        hash = .sha256(RawSpan(_elements: before.span), RawSpan(_elements: line.span))
    }
}
