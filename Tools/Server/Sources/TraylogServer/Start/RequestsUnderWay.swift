import Foundation
import Synchronization
@_spi(Operations) import Traylog

/// The requests under way, in a file beside the store that is mapped into memory: after a crash or a kill the next start logs which
/// ones they were.
///
/// A request costs a few stores into memory that the kernel keeps when the process ends. No name of a user is among them, only the
/// route's template. A server that closes its store removes the file.
@safe
final class RequestsUnderWay: @unchecked Sendable {
    // @unchecked: the mapping never moves, and its words are atomic.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let bytes: Int
    private let path: String
    private let places: [ObjectIdentifier: UInt64]

    /// Requests beyond these are not noted.
    private static let slots = 4_096
    /// Slots that a request looks at for a free one.
    private static let tries = 8
    private static let wordsOfASlot = 4
    private static let wordsOfTheHead = 2
    /// The bytes `TRAYREQ1`.
    private static let magic: UInt64 = 0x3151_4552_5941_5254
    private static let claimed: UInt64 = 1
    /// File systems that need room for a block that is written again: on a full disk the kernel would end the process.
    private static let copying: Set<Substring> = ["btrfs", "bcachefs", "f2fs", "nilfs2", "zfs"]

    /// A request, until it is let go of.
    final class Entry: Sendable {
        private let list: RequestsUnderWay
        private let slot: Int

        fileprivate init(_ list: RequestsUnderWay, _ slot: Int) { (self.list, self.slot) = (list, slot) }

        deinit { list.end(slot) }
    }

    /// Logs what a server before this one left behind, and begins anew.
    ///
    /// - Parameters:
    ///   - directory: the store's.
    ///   - routes: that requests may be of.
    /// - Returns: nil where the file cannot be made; requests are not noted then.
    static func begin(in directory: String, routes: [Route], log: ServiceLog) -> RequestsUnderWay? {
        let path = directory + "/requests-under-way"
        if let left = FileManager.default.contents(atPath: path) { tell(Array(left), log) }
        do {
            return try RequestsUnderWay(path, routes)
        } catch {
            log.write([
                ("warning", "requests under way are not noted, so that a crash would not name its request"),
                ("reason", .string("\(error)")),
            ])
            return nil
        }
    }

    private init(_ path: String, _ routes: [Route]) throws {
        var table = "none"
        var places: [ObjectIdentifier: UInt64] = [:]
        for (index, route) in routes.enumerated() {
            table += "\n\(route.method.rawValue) \(route.path.text)"
            places[ObjectIdentifier(route)] = UInt64(index) + 1
        }
        let count = Self.wordsOfTheHead + Self.slots * Self.wordsOfASlot
        var contents = Data(capacity: count * 8 + table.utf8.count)
        for word in [Self.magic, UInt64(table.utf8.count)] {
            for shift in 0..<8 { contents.append(UInt8(truncatingIfNeeded: word >> (UInt64(shift) * 8))) }
        }
        contents.append(Data(count: Self.slots * Self.wordsOfASlot * 8))
        contents.append(Data(table.utf8))
        // Written whole, so that each block is there when memory is.
        try SmallFile.write(contents, to: path)
        guard !Self.isOnCopyingDisk(path) else {
            try? FileManager.default.removeItem(atPath: path)
            throw ConfigurationError("the file system of \(path) may refuse to change a file when its disk is full")
        }
        let file = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { throw StorageProblem.unwritable(path) }
        defer { _ = Foundation.close(file) }
        let mapping = unsafe mmap(nil, contents.count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        guard let mapping = unsafe mapping, unsafe mapping != MAP_FAILED else { throw StorageProblem.unwritable(path) }
        unsafe words = mapping.bindMemory(to: Atomic<UInt64>.self, capacity: count)
        (bytes, self.path, self.places) = (contents.count, path, places)
    }

    private static func isOnCopyingDisk(_ path: String) -> Bool {
        let whole = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        var nearest = (place: Substring(""), type: Substring(""))
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 2, fields[1].count >= nearest.place.count else { continue }
            let isAbove = fields[1] == "/" || whole.hasPrefix(fields[1] + "/")
            if isAbove { nearest = (fields[1], fields[2]) }
        }
        return copying.contains(nearest.type)
    }

    deinit { unsafe munmap(UnsafeMutableRawPointer(words), bytes) }

    /// Notes a request whose route is known; nil when all slots that it looks at are taken.
    func begin(_ route: Route, id: UInt64) -> Entry? {
        let place = places[ObjectIdentifier(route)] ?? 0
        for number in 0..<Self.tries {
            let slot = Int(truncatingIfNeeded: (id &+ UInt64(number)) % UInt64(Self.slots))
            let first = Self.wordsOfTheHead + slot * Self.wordsOfASlot
            let taken = unsafe words[first].compareExchange(expected: 0, desired: Self.claimed, ordering: .relaxed)
            guard taken.exchanged else { continue }
            unsafe words[first + 1].store(id, ordering: .relaxed)
            unsafe words[first + 2].store(place, ordering: .relaxed)
            let now = UInt64(max(2, Timestamp.now.milliseconds))
            unsafe words[first].store(now, ordering: .relaxed)
            return Entry(self, slot)
        }
        return nil
    }

    private func end(_ slot: Int) {
        unsafe words[Self.wordsOfTheHead + slot * Self.wordsOfASlot].store(0, ordering: .relaxed)
    }

    /// The store is closed: the next start has nothing to tell.
    func close() { try? FileManager.default.removeItem(atPath: path) }

    // MARK: What was left

    private static let mostTold = 64
    private static let lastTime: Int64 = 253_402_300_799_999

    /// Requests that a file says were under way, oldest first.
    static func left(in bytes: [UInt8]) -> [(id: String, route: String, at: Timestamp)]? {
        func word(_ index: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(bytes[index * 8 + $1]) << (UInt64($1) * 8) }
        }
        let head = (wordsOfTheHead + slots * wordsOfASlot) * 8
        guard bytes.count >= head, word(0) == magic, word(1) == UInt64(bytes.count - head) else { return nil }
        let table = String(decoding: bytes[head...], as: UTF8.self).split(separator: "\n").map(String.init)
        var found: [(id: String, route: String, at: Timestamp)] = []
        for slot in 0..<slots {
            let first = wordsOfTheHead + slot * wordsOfASlot
            guard let time = Int64(exactly: word(first)), (2...lastTime).contains(time) else { continue }
            let place = Int(clamping: word(first + 2))
            let route = table.indices.contains(place) ? table[place] : "none"
            found.append((word(first + 1).hex, route, Timestamp(milliseconds: time)))
        }
        return found.sorted { $0.at < $1.at }
    }

    private static func tell(_ bytes: [UInt8], _ log: ServiceLog) {
        guard let left = left(in: bytes) else { return }
        let requests = left.prefix(mostTold).map { request -> JSONValue in
            [
                "request": .string(request.id), "route": .string(request.route),
                "at": .string(request.at.description),
            ]
        }
        log.write([
            ("warning", "the server before this one ended without closing its store"),
            ("underWay", .int(left.count)), ("requests", .array(requests)),
        ])
    }
}
