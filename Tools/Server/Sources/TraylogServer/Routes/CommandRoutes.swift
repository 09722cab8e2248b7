import HTTPTypes
import Hummingbird
import Traylog

/// Many commands in one request: an array, or a stream of lines.
enum CommandRoutes {
    static let lines = "application/x-ndjson"

    static var all: [Route] {
        [
            Route(
                .post, "/v1/commands", as: "performCommands", "Perform many commands", .key(.publish),
                origins: .allowed, query: ["atomic"],
                body: .commands,
                partition: .split(isNameable: true) { try await $0.commands($1, $2) }, takesLimitedKeys: true,
                answers: .json(.commandResults)
            ) { call in
                try call.checkContentType(["application/json", lines])
                if try call.contentType == lines { return try await stream(call, StoreLines(call: call)) }
                return try await call.flag("atomic") ? atomic(call) : array(call)
            }
        ]
    }

    /// The commands of an array; a result in place of each that cannot be read.
    private static func commands(_ call: Call) async throws -> [Result<Command, Refusal>] {
        let body = try await call.body()
        var commands = try read(body)
        if let key = try call.idempotencyKey() {
            guard commands.count == 1 else { throw Problem.invalid("Idempotency-Key", "is for one command") }
            if case .success(var command) = commands[0] {
                guard command.key.map({ $0.utf8.elementsEqual(key.utf8) }) ?? true else {
                    throw Problem.invalid("key", "is not the key of the header Idempotency-Key")
                }
                command.key = key
                commands[0] = .success(command)
            }
        }
        return commands
    }

    /// The commands of an array; where one cannot be read, why.
    static func read(_ body: [UInt8]) throws(TraylogError) -> [Result<Command, Refusal>] {
        try Command.array(json: body.span, atMost: Service.mostCommands)
    }

    private static func array(_ call: Call) async throws -> Response {
        let commands = try await commands(call)
        let results = try await perform(commands, call)
        return try await answer(results, call)
    }

    private static func atomic(_ call: Call) async throws -> Response {
        let commands = try await commands(call)
        let checked = await checked(commands, call)
        for case (let line, .failure(let reason)) in zip(1..., checked) { throw problem(reason, line) }
        let results = try await call.store.perform(checked.map { try $0.get() }, mode: .atomic)
            .map { $0.mapError { Problem($0) } }
        if case .failure(let reason)? = results.last { throw problem(reason, results.count) }
        return try await answer(results, call)
    }

    private static func problem(_ reason: Problem, _ line: Int) -> Problem {
        var problem = reason
        problem.members.append(("line", .int(line)))
        return problem
    }

    /// Performs what could be read, with one sync.
    fileprivate static func perform(
        _ commands: [Result<Command, Refusal>], _ call: Call
    ) async throws -> [Result<Receipt, Problem>] {
        let checked = await checked(commands, call)
        var done = try await call.store.perform(checked.compactMap { try? $0.get() }, mode: .each)[...]
        return checked.map { command in
            switch command {
            case .success: done.removeFirst().mapError { Problem($0) }
            case .failure(let problem): .failure(problem)
            }
        }
    }

    /// The commands as the caller gives them, and why some cannot be performed.
    private static func checked(
        _ commands: [Result<Command, Refusal>], _ call: Call
    ) async -> [Result<Command, Problem>] {
        var checked: [Result<Command, Problem>] = []
        checked.reserveCapacity(commands.count)
        for command in commands {
            switch command {
            case .failure(let refusal): checked.append(.failure(Problem(refusal)))
            case .success(let command):
                do throws(Problem) {
                    try await call.checkNames(of: command)
                    checked.append(.success(call.attributed(command)))
                } catch {
                    checked.append(.failure(error))
                }
            }
        }
        return checked
    }

    private static func answer(_ results: [Result<Receipt, Problem>], _ call: Call) async throws -> Response {
        let head = try await call.store.log.head()
        let value: JSONValue = [
            "head": JSONValue(head), "results": .array(results.map { .object($0.members) }),
        ]
        var headers: HTTPFields = [.seq: head.description]
        if results.count == 1, case .success(.duplicate) = results[0] { headers[.idempotencyReplayed] = "true" }
        return .json(value, headers: headers)
    }

    /// Lines of any number, each answered as soon as it is durable.
    static func stream(_ call: Call, _ performer: some LinePerformer) async throws -> Response {
        guard try !call.flag("atomic") else {
            throw Problem.invalid("atomic", "lines are no transaction; send an array")
        }
        guard try call.headers.text(.idempotencyKey) == nil else {
            throw Problem.invalid("Idempotency-Key", "is for one command; lines have keys of their own")
        }
        var bulk = Bulk(call, performer)
        // What is wrong with the first lines is said by the status.
        let first = try await bulk.next()
        let body = ResponseBody { [bulk] writer in
            let answers = AnswerQueue(directory: call.service.configuration.directory, place: call.place)
            try await withThrowingTaskGroup { group in
                // Clients may read once they have sent everything: the lines do not wait for them.
                group.addTask(executorPreference: globalConcurrentExecutor) {
                    await bulk.run(after: first, into: answers)
                }
                while let part = try await answers.next() { try await writer.write(part) }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: lines, .accelBuffering: "no"], body: body)
    }

    /// The lines of one request on their way into the store.
    private struct Bulk: Sendable {
        private let call: Call
        private let performer: any LinePerformer
        private var lines: CommandLines
        /// Those that have come and wait.
        private var waiting: ArraySlice<CommandLines.Line> = []
        private var summary = Summary()
        /// The last one that was performed.
        private var lastLine = 0

        init(_ call: Call, _ performer: any LinePerformer) {
            (self.call, self.performer) = (call, performer)
            lines = CommandLines(call)
        }

        /// The answers to the lines that came together, which are durable; nil at the end.
        mutating func next() async throws -> [UInt8]? {
            if waiting.isEmpty { waiting = try await lines.next()?[...] ?? [] }
            guard !waiting.isEmpty else { return nil }
            try call.checkCredential()
            let chunk = Array(waiting.prefix(performer.mostLines))
            let results = try await performer.perform(chunk)
            waiting = waiting.dropFirst(chunk.count)
            var bytes: [UInt8] = []
            for (line, result) in zip(chunk.map(\.number), results) {
                lastLine = line
                summary.add(result)
                JSONValue.object([("line", .int(line))] + result).append(to: &bytes)
                bytes.append(UInt8(ascii: "\n"))
            }
            return bytes
        }

        /// Performs the rest.
        ///
        /// The last line is the summary, or the problem that ended it with the first line that was not performed.
        func run(after first: [UInt8]?, into answers: AnswerQueue) async {
            var bulk = self
            do {
                if let first { try await answers.append(first) }
                while let part = try await bulk.next() { try await answers.append(part) }
                try await answers.append(bulk.summary.line(performer.end()))
                answers.finish(.success(()))
            } catch {
                answers.finish(bulk.end(error, answers))
            }
        }

        private func end(_ error: any Error, _ answers: AnswerQueue) -> Result<Void, any Error> {
            call.service.noteDamage(error)
            var problem = Problem(error)
            if problem.status == .tooManyRequests { call.service.admission.note(.bytes) }
            if problem.status.code >= 500 {
                call.service.log.write([("route", .string(call.route.path.text)), ("error", .string("\(error)"))])
            }
            // Where the connection itself is at fault, nobody would read a line.
            guard problem.headers[.connection] == nil else { return .failure(error) }
            problem.members.append(("line", .int(lastLine + 1)))
            do {
                try answers.add(problem.json + [UInt8(ascii: "\n")])
                return .success(())
            } catch {
                return .failure(error)
            }
        }
    }

    private struct Summary {
        var counts: [String: Int] = [:]
        var read = 0

        mutating func add(_ result: [(name: String, value: JSONValue)]) {
            read += 1
            counts[result.first?.value.string ?? "", default: 0] += 1
        }

        /// - Parameter end: where the log is, or each of several.
        func line(_ end: [(name: String, value: JSONValue)]) -> [UInt8] {
            let value: [(name: String, value: JSONValue)] = [
                ("read", .int(read)), ("appended", .int(counts["appended"] ?? 0)),
                ("unchanged", .int(counts["unchanged"] ?? 0)), ("duplicates", .int(counts["duplicate"] ?? 0)),
                ("refused", .int(counts["refused"] ?? 0)),
            ]
            return JSONValue.object(value + end).bytes + [UInt8(ascii: "\n")]
        }
    }
}

/// Performs lines of commands.
protocol LinePerformer: Sendable {
    /// How many it takes at once.
    var mostLines: Int { get }
    /// The members of each line's result, as soon as all are durable.
    func perform(_ lines: [CommandLines.Line]) async throws -> [[(name: String, value: JSONValue)]]
    /// Where the log is at the end.
    func end() async throws -> [(name: String, value: JSONValue)]
}

/// One store performs all.
private struct StoreLines: LinePerformer {
    let call: Call
    var mostLines: Int { .max }

    func perform(_ lines: [CommandLines.Line]) async throws -> [[(name: String, value: JSONValue)]] {
        try await CommandRoutes.perform(lines.map(\.command), call).map(\.members)
    }

    func end() async throws -> [(name: String, value: JSONValue)] {
        [("head", JSONValue(try await call.store.log.head()))]
    }
}

/// The lines of a body, as they come.
struct CommandLines {
    typealias Line = (number: Int, command: Result<Command, Refusal>)

    private let parts: BodyParts
    private var isAtEnd = false
    private var rest: [UInt8] = []
    private var number = 0

    init(_ call: Call) { parts = BodyParts(call.request.body) }

    /// The lines that came together, blank ones left out; nil at the end.
    mutating func next() async throws -> [Line]? {
        while true {
            guard !isAtEnd else { return nil }
            if let part = try await parts.next() {
                rest += part.readableBytesView
            } else {
                isAtEnd = true
                if !rest.isEmpty { rest.append(UInt8(ascii: "\n")) }
            }
            let lines = take()
            if rest.count > Service.longestLine {
                throw Problem(
                    .contentTooLarge, "Too large", "line \(number + 1) is longer than \(Service.longestLine) bytes")
            }
            if !lines.isEmpty { return lines }
        }
    }

    private mutating func take() -> [Line] {
        var lines: [Line] = []
        var start = 0
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            number += 1
            let line = rest[start..<end]
            if !line.allSatisfy(JSONValue.isSpace) {
                let command = Result { () throws(TraylogError) in try Command(json: line.span) }.mapError(
                    Problem.refusal)
                lines.append((number, command))
            }
            start = end + 1
        }
        rest.removeFirst(start)
        return lines
    }
}
