import TraylogDomain
import TraylogJSON

/// A tray as a device shows it.
public struct TrayView: Hashable, Sendable, Codable {
    /// Confirmed events, with the user's pending actions on top.
    public var tray: Tray
    /// Entries of the outbox that are not confirmed yet.
    public var pending: [OutboxEntry]
    /// The client's state relative to the server.
    public var status: TrayStatus
    /// Why it is ``TrayStatus/offline``, ``TrayStatus/authenticationRequired`` or ``TrayStatus/failing``; nil otherwise,
    /// and if the app asked for it.
    public var error: ClientError?
}

/// The client's state relative to the server.
public enum TrayStatus: Hashable, Sendable {
    /// There is no connection; the tray is as of the last one.
    case offline
    /// A request is under way.
    case syncing
    /// The tray is complete through this event, as of the last answer.
    case upToDate(through: Seq)
    /// The token has expired: sign in again.
    case authenticationRequired
    /// A new snapshot is being fetched; the shown tray stays until it is here.
    case reloading
    /// The user was erased; replica and outbox were removed.
    case erased
    /// The server or the device's storage fails; ``TrayClient/lastError`` says why.
    case failing
    /// The server's log was rewritten.
    case inconsistent

    /// Whether the last error says why.
    var hasReason: Bool { [.offline, .authenticationRequired, .failing].contains(self) }

    /// The name in JSON.
    public var name: String {
        switch self {
        case .offline: "offline"
        case .syncing: "syncing"
        case .upToDate: "upToDate"
        case .authenticationRequired: "authenticationRequired"
        case .reloading: "reloading"
        case .erased: "erased"
        case .failing: "failing"
        case .inconsistent: "inconsistent"
        }
    }
}

/// `{"status"}`, and `through` for `upToDate`.
extension TrayStatus: Codable {
    private enum CodingKeys: String, CodingKey { case status, through }

    private static let plain: [TrayStatus] = [
        .offline, .syncing, .authenticationRequired, .reloading, .erased, .failing, .inconsistent,
    ]

    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let name = try fields.decode(String.self, forKey: .status)
        if let status = Self.plain.first(where: { $0.name == name }) {
            self = status
        } else if name == Self.upToDate(through: 0).name {
            self = .upToDate(through: try fields.decode(Seq.self, forKey: .through))
        } else {
            throw DecodingError.dataCorruptedError(
                forKey: .status, in: fields, debugDescription: "there is no such status")
        }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(name, forKey: .status)
        if case .upToDate(let through) = self { try fields.encode(through, forKey: .through) }
    }
}

/// The reason for a refresh.
///
/// Any number of triggers make one request.
public enum RefreshTrigger: String, Hashable, Sendable, CaseIterable, Codable {
    /// The app started, came to the front, shows the tray, was pulled to refresh, is idle, or got a push.
    case launch, foreground, trayVisible, pull, idle, push
}

/// A new item, and how to present it.
public struct Arrival: Hashable, Sendable, Codable {
    /// The item as it arrived.
    public var item: Item
    /// How the app should tell its user.
    public var presentation: Presentation
}

/// How to present a new item.
public struct Presentation: OptionSet, Hashable, Sendable, Codable {
    /// One bit for each way.
    public let rawValue: UInt8
    /// Makes one of its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Show it above other content on the screen.
    public static let alert = Presentation(rawValue: 1)
    /// Play a sound.
    public static let sound = Presentation(rawValue: 2)
    /// Count it on the app's icon.
    public static let badge = Presentation(rawValue: 4)

    /// By level, mute, silence, and whether the app is in front.
    public static func usual(for item: Item, isForeground: Bool) -> Presentation {
        guard !item.content.isSilent, !item.isMuted else { return [] }
        guard item.content.level != .passive else { return .badge }
        return isForeground ? [.alert] : [.alert, .sound, .badge]
    }
}

/// The settings of a ``TrayClient``.
public struct TrayClientOptions: Sendable {
    /// The address that the server had before, as ``ServiceTransport/origin`` named it: the directory and the entries that were not sent
    /// yet go along to the new address, once the server has shown there that it has the same store.
    ///
    /// Until then nothing is sent, and the status is ``TrayStatus/offline`` with the reason.
    public var movedFrom: String?
    /// The `device` of the user's events.
    public var device: String?
    /// Whether the server is followed from the start.
    public var live = true
    /// The number of items whose content is kept on the device; older contents are fetched when they are shown.
    public var itemLimit = 10_000
    /// Whether tree heads are kept and compared, so that a server that rewrote its log is noticed.
    public var witness = false
    /// A C2SP policy file: the witnesses that must have seen the server's log; nil to ask for none.
    ///
    /// The client then takes nothing from a server that shows no checkpoint with a quorum, or one that contradicts the tree heads that are
    /// kept here. It keeps these as with ``witness``.
    public var witnessPolicy: String?
    /// How old the youngest cosignature may be, in seconds, while the log has events that no quorum has seen; nil for any age.
    public var witnessAgeLimit: Int?
    /// The settings of the outbox.
    public var outbox = OutboxOptions()
    /// How a new item is presented.
    public var presentation: @Sendable (Item, _ isForeground: Bool) -> Presentation = {
        Presentation.usual(for: $0, isForeground: $1)
    }
    /// The shortest interval of polling.
    public var shortestPollSeconds = 120

    /// The usual settings.
    public init() {}
}

/// The reason why a client refuses a call.
public enum TrayClientRefusal: Error, Hashable, Sendable {
    /// Nothing has been loaded yet, so nothing was shown that could be marked.
    case notLoaded
    /// The user was erased, and no data is left.
    case erased
    /// The rules forbid it, whatever the server's state.
    case refused(Refusal)
    /// The outbox cannot take it.
    case outbox(OutboxRefusal)

    /// The name that JSON carries as `error`.
    public var name: String {
        switch self {
        case .notLoaded: "notLoaded"
        case .erased: "erased"
        case .refused(let refusal): refusal.code.rawValue
        case .outbox(let refusal): refusal.name
        }
    }
}

extension TrayClientRefusal: CustomStringConvertible {
    /// For a person.
    public var description: String {
        switch self {
        case .notLoaded: "The tray was not loaded yet: connect to the server once."
        case .erased: "The user was erased, and so is what this device had: close it."
        case .refused(let refusal): refusal.message
        case .outbox(let refusal): refusal.description
        }
    }
}

/// The listeners to one kind of change.
struct Broadcast<Value: Hashable & Sendable> {
    private let listeners = Listeners<Value>()
    private var last: Value?

    /// Sends a value, unless it equals the last one.
    mutating func tell(_ value: Value) {
        guard value != last else { return }
        last = value
        for listener in listeners.all { listener.yield(value) }
    }

    /// Sends a value, even if it equals the last one.
    func tellAgain(_ value: Value) { for listener in listeners.all { listener.yield(value) } }

    func finish() { for listener in listeners.all { listener.finish() } }

    /// - Parameter first: the value now.
    mutating func stream(
        _ policy: AsyncStream<Value>.Continuation.BufferingPolicy, first: Value?
    ) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: policy)
        if let first {
            tell(first)
            continuation.yield(first)
        }
        listeners.add(continuation)
        return stream
    }
}
