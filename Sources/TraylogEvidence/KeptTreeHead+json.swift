import TraylogAudit
import TraylogDomain
import TraylogJSON

@_spi(JSON) extension KeptTreeHead: JSONWritable {
    /// `{"treeSize","rootHash"}`, the signed text as `checkpoint` where it has one, and the way to that where it is of a later tree.
    public func write(to writer: inout JSONWriter) { writer.write(head, checkpoint: note?.text, path: path) }
}

@_spi(JSON) extension KeptTreeHead: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let head = try TreeHead(from: decoder)
        guard let text: String = try fields[maybe: "checkpoint"] else {
            self.init(head: head, note: nil)
            return
        }
        let path: [MerkleHash] = try fields[maybe: "path"] ?? []
        do throws(Refusal) {
            try self.init(head, checkpoint: text, path: path)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath, debugDescription: error.message, underlyingError: error))
        }
    }
}
