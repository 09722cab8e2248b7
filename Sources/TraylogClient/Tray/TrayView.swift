import TraylogDomain
import TraylogJSON

/// What a device shows of a tray.
public struct TrayView: Hashable, Sendable, Codable {
    /// Confirmed events, with what the user did here on top.
    public var tray: Tray
    /// Entries of the outbox that are on their way.
    public var pending: [OutboxEntry]
    /// How the client stands with the server.
    public var status: TrayStatus
    /// Why it is ``TrayStatus/offline``, ``TrayStatus/authenticationRequired`` or ``TrayStatus/failing``; nil otherwise,
    /// and where the app asked for it.
    public var error: ClientError?
}

/// How the client stands with the server.
public enum TrayStatus: Hashable, Sendable {
    /// No connection; what is shown is as of the last one.
    case offline
    /// Something is asked or sent.
    case syncing
    /// What is shown is complete through this event, as of the last answer.
    case upToDate(through: Seq)
    /// The token has expired: sign in again.
    case authenticationRequired
    /// A new snapshot is fetched; what is shown stays until it is here.
    case reloading
    /// The user was erased; replica and outbox were removed.
    case erased
    /// The server or the device's storage fails; ``TrayClient/lastError`` says why.
    case failing
    /// The server's log is not the one that it was: it was rewritten.
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

/// Why the app asks for a refresh.
///
/// Any number of triggers make one request.
public enum RefreshTrigger: String, Hashable, Sendable, CaseIterable, Codable {
    /// The app's moments: it started, came to the front, shows the tray, was pulled down, has nothing to do, or got a push.
    case launch, foreground, trayVisible, pull, idle, push
}

/// An item that came, and how to present it.
public struct Arrival: Hashable, Sendable, Codable {
    /// The item as it came.
    public var item: Item
    /// How the app should tell its user.
    public var presentation: Presentation
}

/// How to present an item that came.
public struct Presentation: OptionSet, Hashable, Sendable, Codable {
    /// One bit for each way.
    public let rawValue: UInt8
    /// Makes one of its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Show it over what is on the screen.
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
    /// Goes along with what the user does, as the events' `device`.
    public var device: String?
    /// Whether the server is followed from the start.
    public var live = true
    /// Items whose content is kept on the device; older ones are asked of the server when they are shown.
    public var itemLimit = 10_000
    /// Whether tree heads are kept and compared, so that a server that rewrote its log is noticed.
    public var witness = false
    /// The settings of the outbox.
    public var outbox = OutboxOptions()
    /// How an item that came is presented.
    public var presentation: @Sendable (Item, _ isForeground: Bool) -> Presentation = {
        Presentation.usual(for: $0, isForeground: $1)
    }
    /// The shortest interval of polling.
    public var shortestPollSeconds = 120

    /// The usual settings.
    public init() {}
}

/// Why a client refuses a call.
public enum TrayClientRefusal: Error, Hashable, Sendable {
    /// Nothing was loaded yet, so that nothing was shown that could be marked.
    case notLoaded
    /// The user was erased: there is nothing left to do it with.
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

/// Those who listen to one kind of change.
struct Broadcast<Value: Hashable & Sendable> {
    private let listeners = Listeners<Value>()
    private var last: Value?

    /// Tells a value, unless it is the one that was told last.
    mutating func tell(_ value: Value) {
        guard value != last else { return }
        last = value
        for listener in listeners.all { listener.yield(value) }
    }

    /// Tells a value that may be equal to the last one.
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
