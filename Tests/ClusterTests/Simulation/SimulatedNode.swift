import Traylog
import TraylogCluster

/// A node of the simulation: the product's protocol, driven as a ``ClusterNode`` drives it with tasks and timers.
final class SimulatedNode {
    let name: String
    let store: any NodeStore
    var node: NodeProtocol
    /// Requests that wait for their turn, and those of the group in flight.
    var waiting: [Request] = []
    var deciding: [Request] = []
    /// Tells answers to a message of this life and flight from others.
    var flights = 0
    /// The log's answer to the message in flight, not looked at yet.
    var mail: PublishOutcome?
    var leaseEnd = 0
    var isDown = false
    var pausedUntil = 0
    /// No message gets from here to the log or back, and reads of the log's end are those of the past.
    var cutUntil = 0
    var endWhenCut = LogBounds(first: .start, last: .start)
    /// Replaces the bytes of the next message that brings events, as broken memory would.
    var garblesNext = false

    init(name: String, store: any NodeStore) {
        self.name = name
        self.store = store
        node = NodeProtocol(name: name, position: store.position, tree: store.tree)
    }
}

/// A command on its way from a client, and the messages that the log had then.
struct Request {
    let id: Int
    let client: Int
    let command: Command
    var since: Int
}

/// The end of a request, as a client sees it.
enum Answer {
    case result(Result<Receipt, Refusal>)
    /// It is certain that nothing was stored.
    case notStored
    /// Nobody knows.
    case unknown
}

/// A message between a node and the log.
struct Delivery {
    let node: Int
    let flight: Int
    let message: LogMessage
    let expecting: LogPosition
    /// Whether somebody waits for the answer.
    var wantsAnswer: Bool
}

/// Faults in the protocol that the simulation has to notice.
enum Mutation: CaseIterable {
    /// Callers are answered when the message was sent.
    case answersBeforeTheLog
    /// A group about which nobody knows counts as not stored.
    case takesUnknownForLost
    /// A message that was refused because of its place counts as accepted.
    case ignoresTheFence
    /// A message is published again under another id, at the end as it is by then.
    case publishesAgainElsewhere
    /// Answers that need no event are given without asking the log.
    case answersWithoutAsking
    /// Roots are not compared.
    case comparesNoRoots
    /// The position is not stored with the events.
    case forgetsThePosition
    /// The log is trimmed below the owner's position.
    case trimsForTheOwnerAlone
}

/// How often what goes wrong, in percent of the steps or messages where it can.
struct Weather {
    var lost = 4
    var unanswered = 4
    var late = 4
    var doubled = 4
    var rejected = 1
    var killed = 1
    var isBad = true
    /// Whether the lease may be given to a second node early; else reads of the log's end may be old.
    var leaseBreaks = false

    static let calm = Weather(lost: 0, unanswered: 0, late: 0, doubled: 0, rejected: 0, killed: 0, isBad: false)
}
