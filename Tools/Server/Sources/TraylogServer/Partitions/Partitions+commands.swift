import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
@_spi(Wire) import Traylog

/// Many commands in one request: each partition gets its own, and the results stand in the order of the commands.
extension Partitions {
    /// One command, and its place among all.
    fileprivate struct Part {
        let place: Int
        let command: Command
    }

    /// Commands by partition, and the results of those that none can perform.
    fileprivate struct Split {
        var parts: [Int: [Part]] = [:]
        var results: [Int: JSONValue] = [:]
        /// Places of broadcasts, which have a result of each partition.
        var broadcasts: Set<Int> = []
        /// Whether all could be read.
        var isReadable = true

        /// Whether one partition performs all, or none has anything to do.
        var isOfOne: Bool { results.isEmpty && parts.count <= 1 && broadcasts.isEmpty }
    }

    /// The answers of the partitions, put together.
    fileprivate struct Performed {
        /// By place.
        var results: [Int: JSONValue]
        var heads: [(index: Int, seq: WireNumber)] = []
        /// The answer of a partition that performed none.
        var failure: Answer?

        var headsJSON: JSONValue { .object(heads.map { ("\($0.index)", .number("\($0.seq)")) }) }
    }

    package func commands(_ call: Call, _ given: Int?) async throws -> Response {
        try call.checkContentType(["application/json", CommandRoutes.lines])
        if try call.contentType == CommandRoutes.lines {
            return try await CommandRoutes.stream(call, PartitionLines(partitions: self, call: call, given: given))
        }
        let isAtomic = try call.flag("atomic")
        let body = try await call.body()
        let commands = try CommandRoutes.read(body)
        if try call.idempotencyKey() != nil, commands.count != 1 {
            throw Problem.invalid("Idempotency-Key", "is for one command")
        }
        let split = split(commands, given)
        if isAtomic { try check(split, given) }
        if split.isOfOne || isAtomic {
            let index = split.parts.keys.min() ?? given ?? 0
            let answer = try await each([index]) {
                try await call.at(services[$0], given: $0, body: body).answer()
            }
            guard answer[0].isSuccess, given == nil else { return answer[0].response }
            return whole(answer[0])
        }
        let done = try await perform(split, call)
        if let failure = done.failure { return failure.response }
        let results = done.results.sorted { $0.key < $1.key }.map(\.value)
        var headers: HTTPFields = [:]
        headers[.seq] = done.heads.isEmpty ? nil : Self.text(done.heads)
        if results.count == 1, results[0]["result"]?.string == "duplicate" { headers[.idempotencyReplayed] = "true" }
        return .json(["heads": done.headsJSON, "results": .array(results)], headers: headers)
    }

    /// The answer of the partition that had all commands, with what every answer has.
    private func whole(_ answer: Answer) -> Response {
        let results = (answer.value["results"]?.array ?? []).map { own($0, answer.index) }
        let head = answer.value["head"] ?? .null
        var headers: HTTPFields = [:]
        for name in [HTTPField.Name.seq, .idempotencyReplayed] { headers[name] = answer.response.headers[name] }
        return .json(
            ["head": head, "heads": ["\(answer.index)": head], "results": .array(results)],
            headers: headers)
    }

    private func own(_ result: JSONValue, _ index: Int) -> JSONValue {
        .object(result.members + [(Call.partition, .int(index))])
    }

    /// A transaction is of one log.
    private func check(_ split: Split, _ given: Int?) throws(Problem) {
        // Any partition says what is wrong with a command that cannot be read.
        guard split.isReadable else { return }
        if let (place, result) = split.results.min(by: { $0.key < $1.key }) {
            var problem = Problem.invalid(Call.partition, result["message"]?.string ?? "")
            problem.members.append(("line", .int(place + 1)))
            throw problem
        }
        guard split.isOfOne else {
            throw Problem.invalid(
                "atomic",
                split.broadcasts.isEmpty
                    ? "the commands are of the partitions "
                        + split.parts.keys.sorted().map { "\($0)" }.joined(separator: ", ")
                        + "; a transaction is of users of one of them"
                    : "a broadcast is an event in each partition, and a transaction is of one of them")
        }
    }

    /// Finds out whose the commands are.
    fileprivate func split(_ commands: [Result<Command, Refusal>], _ given: Int?) -> Split {
        var split = Split()
        for (place, result) in commands.enumerated() {
            let command: Command
            switch result {
            case .success(let read): command = read
            case .failure(let refusal):
                split.results[place] = .object(Result<Receipt, Problem>.failure(Problem(refusal)).members)
                split.isReadable = false
                continue
            }
            var targets = given.map { [$0] } ?? []
            if let user = command.user {
                targets = [map.index(of: user)]
            } else if case .broadcast = command.action, given == nil {
                targets = Array(services.indices)
                split.broadcasts.insert(place)
            }
            if let first = targets.first, given == nil || first == given {
                for target in targets { split.parts[target, default: []].append(Part(place: place, command: command)) }
            } else {
                split.results[place] = [
                    "result": "refused", "error": "invalid",
                    "message": .string(
                        targets.first.map { "partition: is \($0) for this user" }
                            ?? "partition: must say whose log has the broadcast, in the query"),
                ]
            }
        }
        return split
    }

    /// Each partition performs its own, all at the same time.
    ///
    /// With broadcasts the first one comes before the others: what it refuses reaches none of them.
    fileprivate func perform(_ split: Split, _ call: Call) async throws -> Performed {
        var done = Performed(results: split.results)
        let indexes = split.parts.keys.sorted()
        let rounds = split.broadcasts.isEmpty ? [indexes] : [Array(indexes.prefix(1)), Array(indexes.dropFirst())]
        for round in rounds {
            let refused = Set(done.results.filter { $0.value["result"]?.string == "refused" }.keys)
            let parts = split.parts.mapValues { $0.filter { !refused.contains($0.place) } }
            let answers = try await each(round.filter { parts[$0]?.isEmpty == false }) { index in
                let body = JSONValue.array((parts[index] ?? []).map { JSONValue($0.command) }).bytes
                return try await call.at(services[index], given: index, body: body, contentType: "application/json")
                    .answer()
            }
            for answer in answers {
                guard answer.isSuccess, let values = answer.value["results"]?.array else {
                    done.failure = answer
                    return done
                }
                done.heads.append((answer.index, answer.value["head"]?.integer ?? 0))
                for (part, value) in zip(parts[answer.index] ?? [], values) {
                    let own = own(value, answer.index)
                    guard split.broadcasts.contains(part.place) else {
                        done.results[part.place] = own
                        continue
                    }
                    let before = done.results[part.place]?["partitions"]?.array ?? []
                    done.results[part.place] = .object(Self.merged(before + [own]))
                }
            }
        }
        return done
    }
}

/// The lines of one request, each performed by the partitions that it concerns.
private final class PartitionLines: LinePerformer {
    let mostLines = Service.mostCommands
    private let partitions: Partitions
    private let call: Call
    private let given: Int?
    private let heads = Mutex<[Int: WireNumber]>([:])

    init(partitions: Partitions, call: Call, given: Int?) {
        (self.partitions, self.call, self.given) = (partitions, call, given)
    }

    func perform(_ lines: [CommandLines.Line]) async throws -> [[(name: String, value: JSONValue)]] {
        let split = partitions.split(lines.map(\.command), given)
        let done = try await partitions.perform(split, call)
        if let failure = done.failure {
            throw Problem.unavailable(
                "partition \(failure.index) did not perform its part: "
                    + (failure.value["detail"]?.string ?? "status \(failure.status.code)"))
        }
        heads.withLock { heads in for (index, seq) in done.heads { heads[index] = seq } }
        return lines.indices.map { done.results[$0]?.members ?? [] }
    }

    func end() -> [(name: String, value: JSONValue)] {
        let heads = heads.withLock { $0.sorted { $0.key < $1.key } }
        let all: [(name: String, value: JSONValue)] = [
            ("heads", .object(heads.map { ("\($0.key)", .number("\($0.value)")) }))
        ]
        return heads.count == 1 ? [("head", .number("\(heads[0].value)"))] + all : all
    }
}
