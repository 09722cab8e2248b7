@testable import TraylogDomain

/// Every version of every page of one state that was ever stored, so that any moment can be read again.
struct PageVersions {
    private(set) var root: [UInt8] = []
    /// Ascending by the event that changed the page; without content where the page had ended.
    private var versions: [PageSpace: [UInt64: [(changedBy: UInt64, content: [UInt8]?)]]] = [:]

    /// Stores the changes of a state, which then releases them.
    mutating func flush(_ state: inout TrayState) {
        root = []
        state.pack(into: &root)
        for page in state.obsoletePages { add(.items, page.first, page.by, nil) }
        for page in state.pages { add(.items, page.first, page.changedBy, page.packed) }
        for page in state.events.sealed { add(.events, page.first, 0, page.packed(as: ())) }
        (state.obsoletePages, state.pages, state.events.sealed) = ([], [], [])
        for (space, index) in TrayState.keyIndexes {
            for page in state[keyPath: index].obsolete { add(space, page.first, page.by, nil) }
            for page in state[keyPath: index].pages { add(space, page.first, page.changedBy, page.packed) }
            state[keyPath: index].obsolete = []
            state[keyPath: index].pages = []
        }
    }

    private mutating func add(_ space: PageSpace, _ first: UInt64, _ changedBy: UInt64, _ content: [UInt8]?) {
        versions[space, default: [:]][first, default: []].append((changedBy, content))
    }

    /// The version, right after `seq`, of the page with the greatest first at or below `key`.
    fileprivate func page(_ space: PageSpace, at key: UInt64, after seq: UInt64) -> [UInt8]? {
        let firsts = (versions[space] ?? [:]).filter { $0.key <= key }.sorted { $0.key > $1.key }
        for (_, all) in firsts {
            if let content = all.last(where: { $0.changedBy <= seq })?.content { return content }
        }
        return nil
    }

    /// Firsts of pages that are in place, and that `seq` or a later event changed.
    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] {
        (versions[space] ?? [:]).filter { ($0.value.last?.changedBy ?? 0) >= seq && $0.value.last?.content != nil }
            .map(\.key)
    }

    fileprivate func eventPages() -> [(first: UInt64, content: [UInt8])] {
        (versions[.events] ?? [:]).sorted { $0.key < $1.key }.compactMap { first, all in
            all.last?.content.map { (first, $0) }
        }
    }
}

/// The pages as they were right after an event, and the log.
struct VersionSource: StateSource {
    var versions: PageVersions
    var log: [Event]
    var moment: UInt64 = .max

    func items(at position: UInt64) throws -> ItemPage? {
        try versions.page(.items, at: position, after: moment)?.unpacked(ItemPage.init(from:))
    }

    func keys(_ space: PageSpace, at key: UInt64) throws -> KeyIndex.Page? {
        try versions.page(space, at: key, after: moment)?.unpacked(KeyIndex.Page.init(from:))
    }

    func events(from seq: UInt64) throws -> EventIndex.Page? {
        let pages = versions.eventPages()
        let found = pages.last { $0.first <= seq }.map { [$0] } ?? []
        for (_, content) in found + pages.filter({ $0.first > seq }).prefix(1) {
            let page = try content.unpacked(EventIndex.Page.init(from:))
            if try page.seqs().last ?? 0 >= seq { return page }
        }
        return nil
    }

    func event(_ seq: UInt64) throws -> Event {
        guard seq > 0, seq <= UInt64(log.count) else { throw RowSource.MissingEvent() }
        return log[Int(seq) - 1]
    }
}

extension EventIndex.Page {
    /// Not ``packed``, which is the run alone.
    fileprivate func packed(as _: Void) -> [UInt8] {
        var bytes: [UInt8] = []
        pack(into: &bytes)
        return bytes
    }
}
