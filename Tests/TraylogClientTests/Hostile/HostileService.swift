import Foundation
import Synchronization
import TestSupport
import Traylog
import TraylogClient

/// An honest service whose answers somebody changes on their way: numbers, times, texts, order, length, heads.
final class HostileService: ServiceTransport, TokenSource {
    private let honest: SimulatedService
    private let random: Mutex<SeededRandom>

    init(_ honest: SimulatedService, seed: UInt64) {
        self.honest = honest
        random = Mutex(SeededRandom(seed: seed))
    }

    func token() async throws -> String { try await honest.token() }
    func isReachable() async -> Bool { true }

    func upload(
        file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String) {
        for fraction in [Double.nan, -Double.infinity, 1e300, 0.5] { progress(fraction) }
        let (response, address) = try await honest.upload(file: path, as: name, progress: progress)
        return (changed(response), address)
    }

    func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse {
        let response = try await honest.perform(request)
        if random.withLock({ $0.chance(5) }) { throw .interrupted("lost") }
        return changed(response)
    }

    func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream {
        let honest = try await honest.perform(request)
        var events =
            "event: data\ndata: \(String(decoding: honest.body, as: UTF8.self))\n\n"
            + "event: control\ndata: {\"streamNextOffset\":\"\(honest.headers["stream-next-offset"] ?? "")\",\"upToDate\":true}\n\n"
        events += "event: end\ndata: {\"reason\":\"\(random.withLock { $0.pick(Self.reasons) })\"}\n\n"
        var response = ServiceResponse(
            status: honest.status, headers: ["content-type": "text/event-stream"], body: Array(events.utf8))
        if honest.status != 200 { response = honest }
        response = changed(response)
        let (chunks, body) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        for part in random.withLock({ random in response.body.parts(&random) }) { body.yield(part) }
        let isEndless = random.withLock { $0.chance(5) }
        // A line without an end, as far as a device may read it.
        if isEndless { for _ in 0..<12 { body.yield([UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)) } }
        body.finish()
        return ServiceStream(status: response.status, headers: response.headers, chunks: chunks)
    }

    private func changed(_ response: ServiceResponse) -> ServiceResponse {
        random.withLock { random in
            var response = response
            // Some answers are left as they are, so that the next ones matter.
            guard random.chance(60) else { return response }
            for _ in 0..<random.between(1, 3) { Self.change(&response, &random) }
            return response
        }
    }

    private static func change(_ response: inout ServiceResponse, _ random: inout SeededRandom) {
        switch random.below(12) {
        case 0: response.status = random.pick(statuses)
        case 1:
            response.headers[random.pick(names)] = random.pick(numbers + times + texts)
            response.status = random.pick([429, 503, response.status])
        case 2:
            let error = random.pick(errors)
            response = ServiceResponse(
                status: random.pick(statuses),
                headers: ["content-type": "application/problem+json", "retry-after": random.pick(numbers)],
                body: Array(#"{"status":1e999,"error":"\#(error)","detail":"\#(random.pick(texts))"}"#.utf8))
        case 3...5: response.body.replaceRun(with: random.pick(numbers), where: { (0x30...0x39).contains($0) }, &random)
        case 6, 7:
            let text = random.pick(times + texts + errors)
            response.body.replaceRun(with: text, where: { $0 != UInt8(ascii: "\"") && $0 != 0x0a }, &random)
        case 8: response.headers["stream-next-offset"]?.changeEnd(to: random.pick(numbers))
        case 9: response.body.shuffleLines(&random)
        case 10: response.body.removeLast(random.below(response.body.count + 1))
        default:
            let depth = random.pick([1, 100, 100_000])
            let nested = String(repeating: random.pick(["[", "{\"a\":"]), count: depth)
            response.body.insert(contentsOf: nested.utf8, at: random.below(response.body.count + 1))
        }
    }

    private static let statuses = [
        Int.min, -1, 0, 100, 200, 204, 206, 302, 304, 400, 401, 403, 404, 408, 410, 413, 422, 425, 429, 500, 503, 507,
        599,
        Int.max,
    ]
    private static let names = [
        "retry-after", "stream-next-offset", "stream-up-to-date", "etag", "traylog-seq", "traylog-tree-head",
        "content-type",
    ]
    private static let reasons = ["tokenExpired", "keyRemoved", "closing", "", "erased"]
    private static let errors = [
        "rewound", "compacted", "invalid", "keyConflict", "unknownItem", "notFound", "duplicate", "behind",
    ]
    static let numbers = [
        "0", "1", "-1", "18446744073709551615", "18446744073709551616", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "72057594037927935", "72057594037927936", "1152921504606846976", "4294967295",
        "4294967296",
        "1e300", "-1e300", "1e-300", "nan", "inf", "-0", "00000000000000000000", "3.5",
        String(repeating: "9", count: 400),
    ]
    private static let times = [
        "0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "-292277022657-01-27T08:29:52Z", "2026-02-30T25:61:61Z",
        "Fri, 31 Dec 9999 23:59:59 GMT", "1969-12-31T23:59:59.999Z",
    ]
    private static let texts = [
        "", "\u{0}", "\u{301}", "\u{feff}", "@host", "../..", "a\\u0301}}}}", String(repeating: "long", count: 20_000),
    ]
}

extension SeededRandom {
    fileprivate mutating func pick<Element>(_ all: [Element]) -> Element { all[below(all.count)] }
}

extension String {
    /// The last 20 characters of an offset are a seq.
    fileprivate mutating func changeEnd(to number: String) {
        self = dropLast(20) + String(repeating: "0", count: Swift.max(0, 20 - number.count)) + number
    }
}

extension [UInt8] {
    /// Replaces one of the runs of bytes of a kind.
    fileprivate mutating func replaceRun(
        with text: String, where isOfKind: (UInt8) -> Bool, _ random: inout SeededRandom
    ) {
        guard !isEmpty, let start = indices.dropFirst(random.below(count)).first(where: { isOfKind(self[$0]) }) else {
            return
        }
        let first = self[...start].lastIndex { !isOfKind($0) }.map { $0 + 1 } ?? 0
        let end = self[start...].firstIndex { !isOfKind($0) } ?? count
        replaceSubrange(first..<end, with: Array(text.utf8))
    }

    /// Exchanges, repeats or removes lines.
    fileprivate mutating func shuffleLines(_ random: inout SeededRandom) {
        var lines = split(separator: 0x0a, omittingEmptySubsequences: false).map(Array.init)
        let (one, other) = (random.below(lines.count), random.below(lines.count))
        switch random.below(3) {
        case 0: lines.swapAt(one, other)
        case 1: lines.insert(lines[one], at: other)
        default: lines.remove(at: one)
        }
        self = Array(lines.joined(separator: [0x0a]))
    }

    /// The same bytes in pieces.
    fileprivate func parts(_ random: inout SeededRandom) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        var rest = self[...]
        while !rest.isEmpty {
            let size = Swift.min(random.pick([1, 7, 100, 5_000, rest.count]), rest.count)
            parts.append(Array(rest.prefix(parts.count < 100 ? size : rest.count)))
            rest = rest.dropFirst(parts[parts.count - 1].count)
        }
        return parts
    }
}
