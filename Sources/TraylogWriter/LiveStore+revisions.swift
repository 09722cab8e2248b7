import TraylogDomain
import TraylogLog
import TraylogStates

/// The revisions of streams: how many events each has had.
extension LiveStore {
    /// The revision that the next event of a stream gets, those of the transaction in the making counted.
    ///
    /// - Throws: ``Refusal`` when the stream has as many events as it can have; failures to read.
    /// - Complexity: O(1) but for the first event after the stream came into memory, which takes a look at its stored state.
    mutating func nextRevision(of number: StreamID) throws -> UInt32 {
        let newest = try revision(of: number)
        guard newest < .max else {
            throw Refusal.invalid(field: "user", reason: "has \(newest) events, and no user or topic can have more")
        }
        return newest + 1
    }

    /// The revision of the newest event of a stream, also of one that is not durable yet.
    mutating func revision(of number: StreamID) throws -> UInt32 {
        if let waiting = tail.revision(of: number) { return waiting }
        guard let stream = try stream(number) else { return 0 }
        if let known = stream.storedRevision { return known }
        let revision = UInt32(clamping: try countStored(stream))
        stream.storedRevision = revision
        return revision
    }

    /// Checks that the newest event of a command's stream has the revision that the command expects.
    ///
    /// - Parameter number: nil for a stream that has no event yet.
    /// - Throws: ``Refusal`` `wrongRevision`; failures to read.
    mutating func check(_ expected: UInt64, of number: StreamID?) throws {
        let newest = try number.map { UInt64(try revision(of: $0)) } ?? 0
        guard newest == expected else { throw Refusal.wrongRevision(expected: expected, revision: newest) }
    }

    /// The revision of a topic's newest event; 0 for a topic without any.
    mutating func revision(ofTopic name: String) throws -> UInt64 {
        guard let topic = try stream(ofTopic: hasher.identity(of: name, as: .topic)) else { return 0 }
        return UInt64(try revision(of: topic.number))
    }

    /// The events of a stream of which none is in the tail.
    private mutating func countStored(_ stream: LiveStream) throws -> UInt64 {
        if let state = stream.states.committed { return state.state.events.count }
        let states = tables.derived.states
        do {
            return try snapshot().read { try states.root(stream.number, of: stream.name, in: $0) }?.state.events.count
                ?? 0
        } catch PackedError.damaged {
            return try refold(stream).state.events.count
        }
    }

    /// Checks that what is known of a stream's revision agrees with its state and its events, on behalf of tests.
    func checkRevision(of stream: LiveStream) {
        guard let state = stream.states.committed?.state else { return }
        var count = state.events.count
        var next = tail.next(of: stream.number, after: state.events.last)
        while next != 0 {
            count += 1
            next = tail.next(after: next)
        }
        guard let known = tail.revision(of: stream.number) ?? stream.storedRevision else { return }
        precondition(UInt64(known) == count, "stream \(stream.number) has revision \(known), not \(count)")
    }
}
