import Testing
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogWriter

/// A store that is asked in one of several ways, with short words for what tests do.
final class TestedStore {
    let path: String
    private let way: StoreWay
    private let settings: StoreOptions
    private var open: Store?

    private init(_ path: String, _ way: StoreWay) {
        self.path = path
        self.way = way
        var settings = options(isRelaxed: true)
        // Small enough for a few events to reach it.
        settings.landmarkDistance = 6
        settings.pagesAtOnce = 1
        settings.journalBytes = 128 << 10
        if way == .evicted {
            settings.tailEvents = 4
            settings.cacheBytes = 1
        }
        self.settings = settings
    }

    static func with(_ way: StoreWay, _ body: (TestedStore) throws -> Void) throws {
        try withStorePath { path in
            let tested = TestedStore(path, way)
            defer { tested.close() }
            // A reader creates nothing.
            _ = try tested.store
            try body(tested)
            tested.close()
            let report = try replay(path)
            #expect(report.identical, "\(report.differences)")
        }
    }

    var store: Store {
        get throws {
            if let open { return open }
            let store = try Store.open(path, options: settings)
            open = store
            return store
        }
    }

    func close() {
        open?.close()
        open = nil
    }

    /// Asks in the store's way.
    func ask<Answer>(_ body: (any BlockingQueries) throws -> Answer) throws -> Answer {
        switch way {
        case .atHand, .evicted:
            return try body(store)
        case .reopened:
            close()
            return try body(store)
        case .reader:
            close()
            return try withReader(path) { try body($0) }
        }
    }

    // MARK: Commands

    /// Performs a command that must come to an event, whose seq it returns.
    @discardableResult
    func act(
        _ user: String?, _ action: Command.Action, key: String? = nil, _ location: SourceLocation = #_sourceLocation
    ) throws -> Seq {
        let receipt = try store.perform(Command(user: user, action, key: key))
        guard case .appended(let seq) = receipt else {
            Issue.record("\(action) is \(receipt)", sourceLocation: location)
            return .zero
        }
        return seq
    }

    @discardableResult
    func notify(_ user: String, _ content: Content = Content(title: "Hi"), key: String? = nil) throws -> Seq {
        try act(user, .notify(content), key: key)
    }

    @discardableResult
    func broadcast(_ topic: String, _ content: Content = Content(title: "To all"), key: String? = nil) throws -> Seq {
        try act(nil, .broadcast(topic: topic, content), key: key)
    }

    func receipt(_ user: String?, _ action: Command.Action, key: String? = nil) throws -> Receipt {
        try store.perform(Command(user: user, action, key: key))
    }

    /// Why a command is refused, and that nothing was stored; nil when it is not refused.
    func refusal(_ user: String?, _ action: Command.Action, key: String? = nil) throws -> Refusal? {
        let store = try store
        let head = try store.head()
        do throws(TraylogError) {
            _ = try store.perform(Command(user: user, action, key: key))
            return nil
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            #expect(try store.head() == head)
            return refusal
        }
    }

    func tick(_ milliseconds: Int64) throws -> TickReport {
        try store.tick(now: Timestamp(milliseconds: milliseconds))
    }

    // MARK: Answers

    func tray(_ user: String, asOf: Moment? = nil) throws -> Tray { try ask { try $0.tray(of: user, asOf: asOf) } }

    /// The seqs of the first hundred items of a view, newest position first.
    func inbox(
        _ user: String, _ query: InboxQuery = InboxQuery(limit: 100), asOf: Moment? = nil
    ) throws -> [Seq] {
        try items(user, query, asOf: asOf).map(\.seq)
    }

    func items(
        _ user: String, _ query: InboxQuery = InboxQuery(limit: 100), asOf: Moment? = nil
    ) throws -> [Item] {
        try ask { try $0.inbox(of: user, query, asOf: asOf).elements }
    }

    /// The kinds and items of the events after `seq`, in short.
    func events(after seq: Seq) throws -> [Event] {
        try ask { try $0.events(from: Seq(seq.rawValue + 1), limit: .max).elements }
    }
}

extension Timestamp {
    /// A time of a test's own.
    static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }
}

/// A command for one transaction.
func command(_ user: String?, _ action: Command.Action, key: String? = nil) -> Command {
    Command(user: user, action, key: key)
}
