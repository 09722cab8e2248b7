/// The salt and the payload of an event.
///
/// Its leaf commits to them: the last 32 bytes of the leaf are SHA-256(salt ‖ payload) (Docs/internals/format.md, "Leaf").
///
/// Give it only to those who may read the event: without the salt, the leaf reveals nothing.
public struct EventDisclosure: Hashable, Sendable {
    /// 16 bytes.
    public var salt: [UInt8]
    /// The Protocol Buffers message of Docs/internals/format/event.proto, as it is stored.
    public var payload: [UInt8]

    /// What an auditor needs beside a leaf: the salt of 16 bytes and the payload.
    package init(salt: [UInt8], payload: [UInt8]) {
        self.salt = salt
        self.payload = payload
    }
}
