import TraylogServer
import AsyncHTTPClient
import Foundation
import NIOCore
@_spi(Wire) import Traylog

/// Begins a node's store with a copy of another node's.
struct Seed {
    let peer: String
    let pass: NodePass
    let directory: String
    /// Nil for a peer with one store.
    let partition: Int?

    /// The copy comes into this directory, and is looked at before it becomes the store.
    private var incoming: String { directory + ".incoming" }

    /// Does nothing where there is a store.
    ///
    /// A copy that came halfway is removed, and begun again.
    func plant() async throws {
        let files = FileManager.default
        try? files.removeItem(atPath: incoming)
        guard !files.fileExists(atPath: directory + "/CURRENT") else { return }
        let head = try await fetch()
        try await check(head)
        try files.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // The file that names the environment comes last: without it there is no store.
        let names = try files.contentsOfDirectory(atPath: incoming).sorted { $1 == "CURRENT" && $0 != "CURRENT" }
        for name in names {
            let target = directory + "/" + name
            try? files.removeItem(atPath: target)
            try files.moveItem(atPath: incoming + "/" + name, toPath: target)
        }
        try files.removeItem(atPath: incoming)
    }

    /// - Returns: the tree head that the copy must have.
    private func fetch() async throws -> String {
        let query = partition.map { "?\(Call.partition)=\($0)" } ?? ""
        let target = ClusterRoutes.copyPath + query
        var request = HTTPClientRequest(url: peer + target)
        request.headers.add(name: "Authorization", value: pass.credentials("GET", target))
        let answer: HTTPClientResponse
        do {
            answer = try await Self.client.execute(request, deadline: .distantFuture)
        } catch {
            throw SeedProblem("\(peer) cannot be reached: \(error)", mayPass: true)
        }
        guard answer.status == .ok, let head = answer.headers.first(name: "Traylog-Tree-Head") else {
            throw SeedProblem(
                "\(peer) answered \(answer.status.code); is it a node of this cluster, with the same key for checkpoints?"
            )
        }
        try FileManager.default.createDirectory(
            atPath: incoming, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var writer = CopyWriter(directory: incoming)
        do {
            for try await part in answer.body { try writer.take(part.readableBytesView) }
        } catch {
            throw SeedProblem("the copy of \(peer) came halfway: \(error)", mayPass: true)
        }
        guard writer.isComplete else { throw SeedProblem("the copy of \(peer) came halfway", mayPass: true) }
        return head
    }

    /// Reports at once that nobody listens, where the shared client would retry without end.
    ///
    /// A peer makes its copy before it answers.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(5)
        configuration.timeout.read = .minutes(10)
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    private func check(_ head: String) async throws {
        let reader = try await StoreReader.opened(incoming)
        let (own, report) = (try await reader.proofs.treeHead(), try await reader.upkeep.verify())
        await reader.close()
        guard "\(own.size):\(own.root)" == head, report.findings.isEmpty else {
            throw SeedProblem(
                "the copy of \(peer) has the tree head \(own.size):\(own.root) instead of \(head)"
                    + report.findings.map { "; \($0)" }.joined())
        }
    }
}

struct SeedProblem: Error, CustomStringConvertible {
    let description: String
    /// Whether the peer may answer when it is asked again.
    let mayPass: Bool

    init(_ description: String, mayPass: Bool = false) {
        (self.description, self.mayPass) = ("--seed: " + description, mayPass)
    }
}

/// Writes files as ``CopyReader`` sends them: for each a line `{"file","bytes"}` and its bytes; a line `{}` at the end.
private struct CopyWriter {
    let directory: String
    private(set) var isComplete = false
    private var line: [UInt8] = []
    private var file: FileHandle?
    private var left: UInt64 = 0

    init(directory: String) { self.directory = directory }

    mutating func take(_ bytes: some Collection<UInt8>) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            if left > 0 {
                let part = rest.prefix(Int(min(left, UInt64(rest.count))))
                try file?.write(contentsOf: Data(part))
                left -= UInt64(part.count)
                rest = rest.dropFirst(part.count)
                if left == 0 { try finish() }
            } else if let byte = rest.popFirst() {
                if byte == UInt8(ascii: "\n") { try begin() } else { line.append(byte) }
                guard line.count < 4_096 else { throw SeedProblem("the copy has another form") }
            }
        }
    }

    private mutating func begin() throws {
        let value = try JSONValue(json: line)
        line = []
        guard let name = value["file"]?.string, let bytes = value["bytes"]?.integer?.within(0...UInt64(1 << 50)) else {
            return isComplete = true
        }
        // A name from elsewhere must not lead elsewhere.
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.isEmpty, parts.allSatisfy({ !$0.isEmpty && $0 != ".." && $0 != "." }) else {
            throw SeedProblem("the copy has another form")
        }
        let path = directory + "/" + name
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let opened = FileHandle(forWritingAtPath: path)
        else { throw StorageProblem.unwritable(path) }
        (file, left) = (opened, bytes)
        if bytes == 0 { try finish() }
    }

    private mutating func finish() throws {
        try file?.synchronize()
        try file?.close()
        file = nil
    }
}
