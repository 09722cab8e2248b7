import TraylogDomain
import TraylogLog
import TraylogPages

/// A state that comes into the file in parts, because a transaction with all of its rows would keep others waiting.
///
/// 1. The pages that changed are written beside those in place, as versions among the kept pages. Nobody sees them: a root
///    that is older asks for none of them. Then come the pages of events, and at last the landmarks, which need both.
/// 2. One small transaction writes the root and says that the versions are in force (``StagedStream``). From then on the
///    newest version of a page counts, wherever it lies.
/// 3. The versions move into their places.
///
/// The file is whole after each transaction. A process that dies in the first step leaves rows that the next one takes
/// away; one that dies in the third leaves a state that everybody can read, and the next one goes on.
package struct StagedState: Sendable {
    /// A page that changed, or ended.
    package struct Page: Hashable, Sendable {
        package var space: PageSpace
        package var first: UInt64
        /// The event that changed it; 0 for a page that is to be deleted.
        package var changedBy: UInt64
    }

    package let stream: StreamID
    /// The pages of the list that the first part writes.
    package private(set) var pages: [Page] = []
    /// Rows that change no answer before the switch, in the order in which they are to be written.
    package private(set) var ahead = RowBuffer()
    /// The rows that make them count: the root.
    package private(set) var atSwitch = RowBuffer()

    /// Takes apart the rows that would store the state at once.
    ///
    /// - Parameter rows: with those that keep its past: a page that ends has its end among them.
    package init(_ rows: RowBuffer, of stream: StreamID) throws {
        self.stream = stream
        var (events, landmarks): ([Int], [Int]) = ([], [])
        try rows.forEachChange { index, key, value in
            let number = key.littleEndian(at: 5, as: UInt64.self).byteSwapped
            let row = StateTable.Space(rawValue: key.byte(at: 4))
            guard let space = PageSpace(rawValue: row.rawValue), space != .events else {
                switch row {
                case .page(.events): events.append(index)
                case .landmark: landmarks.append(index)
                case _ where row.isKept: ahead.append(rows, index..<(index + 1))
                default: atSwitch.append(rows, index..<(index + 1))
                }
                return
            }
            guard let value else {
                pages.append(Page(space: space, first: number, changedBy: 0))
                return
            }
            let content = try Checked.open(value, key: key)
            let changedBy = try StateTable.identity(of: content, space).changedBy
            pages.append(Page(space: space, first: number, changedBy: changedBy))
            ahead.append(stream, .kept(space), number, version: changedBy) { $0.append(contentsOf: content) }
        }
        for index in events + landmarks { ahead.append(rows, index..<(index + 1)) }
    }

    /// Appends the row that names its pages.
    package func packList(into rows: inout RowBuffer) {
        rows.append(stream, .staged, 0) { bytes in
            for page in pages {
                bytes.append(page.space.rawValue)
                bytes.appendVarint(page.first)
                bytes.appendVarint(page.changedBy)
            }
        }
    }
}

/// Names the stream whose state comes into the file in parts, and says how far that has come.
package struct StagedStream: Hashable, Sendable {
    package let stream: StreamID
    /// Whether its root is stored, which needs the versions that are not in their places yet.
    package let isInForce: Bool

    package init(stream: StreamID, isInForce: Bool) {
        self.stream = stream
        self.isInForce = isInForce
    }

    init(from reader: inout PackedReader) throws(PackedError) {
        stream = try reader.stream("the stream of a staged state")
        guard stream != .absent else { throw .damaged("the stream of a staged state") }
        isInForce = try reader.byte() != 0
    }

    func pack(into bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(stream.rawValue))
        bytes.append(isInForce ? 1 : 0)
    }
}

extension StateTable {
    /// The pages of the stream's state that comes into the file in parts.
    ///
    /// - Throws: ``PackedError`` `damaged`, also when there is no list.
    package func stagedPages(
        of stream: StreamID, in transaction: borrowing ReadTransaction
    ) throws -> [StagedState.Page] {
        let key = StateTable.key(stream, .staged, 0)
        let content = try transaction.get(database, RawSpan(_elements: key.span)) {
            try Checked.open($0, key: RawSpan(_elements: key.span))
        }
        guard let content else { throw PackedError.damaged("the pages of a staged state are missing") }
        var reader = PackedReader(content)
        var pages: [StagedState.Page] = []
        while !reader.isAtEnd {
            guard let space = PageSpace(rawValue: try reader.byte()) else {
                throw PackedError.damaged("a page of a staged state")
            }
            pages.append(StagedState.Page(space: space, first: try reader.varint(), changedBy: try reader.varint()))
        }
        return pages
    }

    /// The landmarks and the pages of events that are newer than the stored root: those of a state that is not in force.
    ///
    /// All of them where there is no sound root.
    package func aheadOfRoot(
        of stream: StreamID, in transaction: borrowing ReadTransaction
    ) throws -> [(space: Space, number: UInt64)] {
        let root: TrayState?
        do { root = try self.root(stream, in: transaction)?.state } catch PackedError.damaged { root = nil }
        let events = root.map { $0.events.open.packed.isEmpty ? $0.events.last + 1 : $0.events.open.first } ?? 0
        var found: [(space: Space, number: UInt64)] = []
        for (space, start) in [(Space.landmark, root.map { $0.appliedSeq + 1 } ?? 0), (.page(.events), events)] {
            let start = StateTable.key(stream, space, start)
            try transaction.withCursor(database) { cursor in
                var isThere = try cursor.seek(RawSpan(_elements: start.span))
                while isThere {
                    let number: UInt64? = cursor.withEntry { key, _ in
                        guard key.starts(with: RawSpan(_elements: start.span), count: 5) else { return nil }
                        return key.littleEndian(at: 5, as: UInt64.self).byteSwapped
                    }
                    guard let number else { return }
                    found.append((space, number))
                    isThere = try cursor.next()
                }
            }
        }
        return found
    }

    /// A version of a page that is written beside it; nil when it is in its place already.
    package func version(
        _ page: StagedState.Page, of stream: StreamID, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8]? {
        var key = StateTable.key(stream, .kept(page.space), page.first)
        StateTable.append(page.changedBy, to: &key)
        return try transaction.get(database, RawSpan(_elements: key.span)) {
            try Checked.open($0, key: RawSpan(_elements: key.span))
        }
    }
}
