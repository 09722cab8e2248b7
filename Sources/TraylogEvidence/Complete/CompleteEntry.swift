import TraylogAudit
import TraylogDomain
import TraylogJSON

/// An event of a complete history, with its proof and, as a rule, its content.
///
/// The lines of its file are in Docs/reference/json.md, "Complete histories".
@_spi(Operations) public struct CompleteEntry: Sendable {
    /// The topic whose event it is; nil for the user's own.
    public var topic: String?
    /// Whether the event stands here only because it shows which stream is the topic's.
    public var isNaming: Bool
    /// The event; nil for a topic's event that did not reach the user and is not disclosed.
    public var event: Event?
    /// The counts before and after it; nil for an event that did not reach the tray.
    public var counts: (before: TrayCounts, after: TrayCounts)?
    /// Leads to the history's tree head.
    public var proof: EventProof
    /// Nil for an event that is not disclosed, and for one that was erased.
    public var disclosure: EventDisclosure?

    package init(
        topic: String?, isNaming: Bool, event: Event?, counts: (before: TrayCounts, after: TrayCounts)?,
        proof: EventProof, disclosure: EventDisclosure?
    ) {
        (self.topic, self.isNaming, self.event, self.counts) = (topic, isNaming, event, counts)
        (self.proof, self.disclosure) = (proof, disclosure)
    }
}

@_spi(JSON) extension CompleteEntry: JSONWritable {
    /// Writes the line of the event.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        members(to: &writer)
        writer.endObject()
    }

    /// Writes the members of the line, into an object that may have others.
    public func members(to writer: inout JSONWriter) {
        writer.member("topic", topic)
        if isNaming { writer.member("names", true) }
        if let event {
            writer.name("event")
            writer.write(event)
        }
        if let counts {
            writer.name("before")
            writer.write(counts.before)
            writer.name("after")
            writer.write(counts.after)
        }
        writer.name("proof")
        writer.write(proof)
        if let disclosure {
            writer.name("disclosed")
            writer.write(disclosure)
        }
    }
}

/// Events of a stream that neither the log nor an archive has.
@_spi(Operations) public struct RevisionGap: Hashable, Sendable, CustomStringConvertible {
    /// The user, or `topic` and the topic.
    public let stream: String
    /// The first and the last revision that is missing.
    ///
    /// A file of somebody else may state any numbers, so they may be more than an integer counts.
    public private(set) var revisions: ClosedRange<UInt64>

    /// What is missing after one revision, through another one; nil where that is none.
    package init?(after revision: UInt64, through last: UInt64, of stream: String) {
        guard revision < last else { return nil }
        (self.stream, revisions) = (stream, revision + 1...last)
    }

    /// What is missing between two revisions; nil where the second follows the first, or does not come after it.
    package init?(between revision: UInt64, and next: UInt64, of stream: String) {
        guard revision < next else { return nil }
        self.init(after: revision, through: next - 1, of: stream)
    }

    /// Whether it took over a gap of the same stream that begins right behind it.
    package mutating func join(_ next: RevisionGap) -> Bool {
        guard next.revisions.lowerBound - 1 == revisions.upperBound else { return false }
        revisions = revisions.lowerBound...next.revisions.upperBound
        return true
    }

    /// The text for a person.
    public var description: String {
        revisions.lowerBound == revisions.upperBound
            ? "revision \(revisions.lowerBound) of \(stream) is missing"
            : "revisions \(revisions.lowerBound) to \(revisions.upperBound) of \(stream) are missing"
    }
}
