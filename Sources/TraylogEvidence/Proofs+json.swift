import TraylogAudit
import TraylogDomain
import TraylogJSON

/// The JSON forms of tree heads and proofs: hashes in hexadecimal digits, leaves in Base64.
@_spi(JSON) extension JSONWriter {
    /// Writes `{"treeSize","rootHash"}`.
    ///
    /// - Parameters:
    ///   - checkpoint: the tree head, or a later one of the same log, signed.
    ///   - path: the consistency proof from the tree head to a later checkpoint.
    public mutating func write(_ head: TreeHead, checkpoint: String? = nil, path: [MerkleHash] = []) {
        beginObject()
        member("treeSize", head.size)
        member("rootHash", head.root.hex)
        member("checkpoint", checkpoint)
        if !path.isEmpty { self.path(path) }
        endObject()
    }

    /// Writes an inclusion proof.
    ///
    /// - Parameters:
    ///   - salt: with the payload, for somebody who may read the event; nil to keep them back.
    ///   - payload: as above.
    public mutating func write(_ proof: EventProof, salt: [UInt8]? = nil, payload: [UInt8]? = nil) {
        beginObject()
        member("seq", proof.seq)
        member("leafIndex", proof.inclusion.leafIndex)
        member("treeSize", proof.head.size)
        member("rootHash", proof.head.root.hex)
        member("leafHash", proof.leafHash.hex)
        if let leaf = proof.leaf {
            name("leaf")
            value(base64: leaf.bytes.span)
        }
        path(proof.inclusion.path)
        if let salt, let payload { disclosed(salt: salt, payload: payload) }
        endObject()
    }

    /// Writes a consistency proof.
    public mutating func write(_ growth: TreeGrowth) {
        beginObject()
        member("first", growth.first.size)
        member("second", growth.second.size)
        member("firstRoot", growth.first.root.hex)
        member("secondRoot", growth.second.root.hex)
        path(growth.consistency.path)
        endObject()
    }

    /// Writes the members `salt` and `payload`.
    public mutating func disclosed(salt: [UInt8], payload: [UInt8]) {
        name("salt")
        value(base64: salt.span)
        name("payload")
        value(base64: payload.span)
    }

    private mutating func path(_ path: [MerkleHash]) {
        member("path", each: path) { $0.value($1.hex) }
    }
}
