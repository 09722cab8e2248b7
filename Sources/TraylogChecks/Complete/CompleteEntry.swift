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
    public package(set) var revisions: ClosedRange<UInt64>

    package init(_ revisions: ClosedRange<UInt64>, of stream: String) {
        (self.stream, self.revisions) = (stream, revisions)
    }

    /// The text for a person.
    public var description: String {
        revisions.count == 1
            ? "revision \(revisions.lowerBound) of \(stream) is missing"
            : "revisions \(revisions.lowerBound) to \(revisions.upperBound) of \(stream) are missing"
    }
}
