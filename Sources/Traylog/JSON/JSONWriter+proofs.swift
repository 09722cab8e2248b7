import TraylogAudit
import TraylogDomain
import TraylogJSON

/// The JSON forms of tree heads and proofs: hashes in hexadecimal digits, leaves in Base64.
extension JSONWriter {
    /// Writes `{"treeSize","rootHash"}`.
    ///
    /// - Parameter checkpoint: the tree head, signed.
    public mutating func write(_ head: TreeHead, checkpoint: String? = nil) {
        beginObject()
        member("treeSize", head.size)
        member("rootHash", head.root.hex)
        member("checkpoint", checkpoint)
        endObject()
    }

    /// Writes an inclusion proof.
    public mutating func write(_ proof: EventProof) {
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

    private mutating func path(_ path: [MerkleHash]) {
        name("path")
        beginArray()
        for hash in path { value(hash.hex) }
        endArray()
    }
}
