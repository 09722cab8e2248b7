import TraylogAudit
import TraylogDomain
import TraylogJSON

/// A decision in one file: what a user was shown, what the user answered, and the proofs of it.
///
/// ``DecisionCheck`` checks it without a store. The form is in Docs/reference/json.md, "Decisions".
@_spi(Operations) public struct DecisionRecord: Sendable {
    /// What the events say; nil when the user was erased.
    public let statement: DecisionStatement?
    /// The user; for an erased person, the pseudonym.
    public let user: String
    /// The event that brought the item.
    public let item: Seq
    /// All proofs lead to it.
    public let treeHead: TreeHead
    /// The tree head with a checkpoint that others have seen; nil for none.
    public var seen: KeptTreeHead?
    /// The event that brought the item, and every edit up to the answer's `asOf`.
    public let shown: [CompleteEntry]
    /// The `acted` event; of an erased person all that came after the item, because nothing says which one was the answer to it.
    public let answers: [CompleteEntry]
    /// The first edit after the answer; nil when there is none.
    public let later: CompleteEntry?

    /// - Throws: ``Refusal/invalid(field:reason:)`` as ``DecisionStatement/init(user:shown:answer:later:)``.
    package init(
        user: String, item: Seq, treeHead: TreeHead, shown: [CompleteEntry], answers: [CompleteEntry],
        later: CompleteEntry?
    ) throws(Refusal) {
        (self.user, self.item, self.treeHead) = (user, item, treeHead)
        (self.shown, self.answers, self.later) = (shown, answers, later)
        guard let answer = answers.first?.part, case .acted = answer.event.body else {
            statement = nil
            return
        }
        statement = try DecisionStatement(
            user: user, shown: shown.compactMap(\.part), answer: answer, later: later?.part)
    }
}

extension CompleteEntry {
    fileprivate var part: DecisionStatement.Part? {
        guard let event, let leaf = proof.leaf else { return nil }
        return DecisionStatement.Part(event, stream: leaf.stream)
    }
}

@_spi(JSON) extension DecisionRecord: JSONWritable {
    /// Writes one object, whose last member is the hash of everything before it.
    public func write(to writer: inout JSONWriter) {
        var own = JSONWriter()
        own.beginObject()
        DecisionForm.members(
            statement, user: user, item: item, seen ?? KeptTreeHead(head: treeHead, note: nil),
            shown: shown.map(\.jsonBytes),
            answers: answers.map(\.jsonBytes),
            later: later?.jsonBytes, to: &own)
        own.member("seal", FileSeal.hash(own.bytes))
        own.endObject()
        writer.raw(String(decoding: own.bytes, as: UTF8.self))
    }
}

extension CompleteEntry {
    fileprivate var jsonBytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

/// The form of a decision's file.
enum DecisionForm {
    /// Writes all members but the seal.
    ///
    /// - Parameters:
    ///   - statement: nil for an erased person.
    ///   - shown: JSON texts, as the others.
    static func members(
        _ statement: DecisionStatement?, user: String, item: Seq, _ head: KeptTreeHead, shown: [[UInt8]],
        answers: [[UInt8]], later: [UInt8]?, to writer: inout JSONWriter
    ) {
        if let statement {
            statement.members(to: &writer)
        } else {
            writer.name("decision")
            writer.beginObject()
            writer.member("user", user)
            writer.member("item", item)
            writer.member("erased", true)
            writer.endObject()
        }
        writer.name("treeHead")
        writer.write(head)
        writer.member("shown", each: shown) { $0.raw(String(decoding: $1, as: UTF8.self)) }
        writer.member("answers", each: answers) { $0.raw(String(decoding: $1, as: UTF8.self)) }
        guard let later else { return }
        writer.name("later")
        writer.raw(String(decoding: later, as: UTF8.self))
    }
}
