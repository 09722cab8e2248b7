import Foundation

/// The torture program as its own child: runs points, with one line for each, until it has finished or dies.
package struct TortureWorker {
    /// What is run, after the program's own name.
    var arguments: [String]
    var environment: [String: String] = [:]

    /// Runs it to its end.
    ///
    /// - Parameter hear: gets each line.
    /// - Returns: whether a signal ended it.
    func run(_ hear: (TortureLine) -> Void) throws -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        var waiting = Data()
        while true {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            waiting += more
            while let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
                if let line = try? JSONDecoder().decode(TortureLine.self, from: Data(waiting[..<end])) { hear(line) }
                waiting = Data(waiting[waiting.index(after: end)...])
            }
        }
        process.waitUntilExit()
        if process.terminationReason == .uncaughtSignal { return true }
        guard process.terminationStatus == 0 else { throw Failure(status: process.terminationStatus) }
        return false
    }

    /// The child could not work at all.
    struct Failure: Error {
        var status: Int32
    }
}

extension TortureReport {
    /// Runs points in worker processes; when one dies, the next goes on after the point that was under way.
    ///
    /// - Parameter worker: for the points from a number on.
    package mutating func run(_ count: Int, _ worker: (Int) -> TortureWorker) throws {
        var next = 0
        while next < count {
            let wasKilled = try worker(next).run { line in
                self.count(line)
                next += 1
                if let note = line.note { TortureLine.complain("\(kind): \(note)") }
            }
            guard wasKilled else { break }
            TortureLine.complain("\(kind): point \(next) ended by a signal")
            signals += 1
            points += 1
            next += 1
        }
    }
}
