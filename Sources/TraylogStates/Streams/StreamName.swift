import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Whose events a stream holds.
package enum StreamName: Hashable, Sendable {
    case user(String)
    case topic(String)
    /// A user who was erased, by the number of the stream.
    case erased(StreamID)

    package var text: String {
        switch self {
        case .user(let name), .topic(let name): name
        case .erased(let stream): Pseudonym.name(ofStream: stream)
        }
    }

    package var isErased: Bool {
        if case .erased = self { true } else { false }
    }

    package var isTopic: Bool {
        if case .topic = self { true } else { false }
    }

    /// The key of its row in the table of names.
    package func key(_ hasher: IdentityHasher) -> [UInt8] {
        switch self {
        case .user(let name): NameTable.key(user: name)
        case .topic(let name): NameTable.key(topic: hasher.identity(of: name, as: .topic))
        case .erased(let stream): NameTable.key(user: Pseudonym.name(ofStream: stream))
        }
    }

    func hasSameBytes(as other: StreamName) -> Bool {
        isTopic == other.isTopic && isErased == other.isErased && text.hasSameBytes(as: other.text)
    }
}

extension EventDecoder {
    /// The name of the stream that the event belongs to; nil for what happens to a broadcast, which names only that.
    ///
    /// - Throws: ``CodecError`` `damaged` when the name is not UTF-8.
    package static func streamName(seq: UInt64, payload: RawSpan) throws(CodecError) -> StreamName? {
        let names = try names(seq: seq, payload: payload)
        guard let range = names.user ?? names.topic else { return nil }
        var bytes: [UInt8] = []
        bytes.append(copying: payload.extracting(range))
        guard let name = String(validating: bytes, as: UTF8.self) else {
            throw CodecError(.damaged, seq: seq, "the name of its user or topic is not UTF-8")
        }
        return names.user != nil ? .user(name) : .topic(name)
    }
}

extension EventLog {
    /// The name of the stream that an event belongs to.
    ///
    /// - Throws: ``CodecError`` `damaged` when nothing tells it.
    func streamName(
        of seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction
    ) throws -> StreamName {
        let header = try RecordHeader.read(record, seq: seq)
        if header.isErased || header.kind == .erased { return .erased(header.stream) }
        let (name, item) = try nameOrItem(seq, record, in: transaction)
        if let name { return name }
        let found = try item.flatMap { item in
            try self.record(item, in: transaction) { try nameOrItem(item, $0, in: transaction).name }
        }
        guard case let name?? = found else {
            throw CodecError(.damaged, seq: seq, "it names neither a user nor a topic")
        }
        return name
    }

    private func nameOrItem(
        _ seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction
    ) throws -> (name: StreamName?, item: UInt64?) {
        try withPayload(of: seq, record, in: transaction) { header, payload in
            if let name = try EventDecoder.streamName(seq: seq, payload: payload) { return (name, nil) }
            let event = try EventDecoder.event(seq: Seq(seq), header: header, payload: payload)
            return switch event.body {
            case .edited(let item, _), .retracted(let item), .expired(let item), .reminded(let item),
                .arrived(let item, _, _, _, _):
                (nil, item.rawValue)
            default: (nil, nil)
            }
        }
    }
}
