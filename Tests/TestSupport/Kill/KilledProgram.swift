import Foundation

/// One round of a kill loop with the built program: it appends what it is told, and is killed meanwhile.
package enum KilledProgram {
    private struct EndedByItself: Error {}

    package static func run(_ loop: inout KillLoop) throws {
        let writer = try AppendingProcess(store: loop.directory)
        var pendingLines: [Int] = []
        var pendingBytes = 0

        func hear(_ count: Int) throws {
            for _ in 0..<count {
                guard let line = writer.hear() else { throw EndedByItself() }
                try loop.hear(line)
                pendingBytes -= pendingLines.removeFirst()
            }
        }

        // One of ten dies while it starts.
        let bursts = loop.random.chance(10) ? 0 : loop.random.between(1, 12)
        for _ in 0..<bursts {
            for _ in 0..<loop.random.between(1, 40) {
                let line = loop.nextLine()
                // Larger than a pipe: sent when nothing else is on its way, to a program that reads.
                while pendingBytes > 0, pendingBytes + line.utf8.count > AppendingProcess.pendingBytes { try hear(1) }
                try writer.say(line)
                pendingLines.append(line.utf8.count)
                pendingBytes += line.utf8.count
            }
            try hear(loop.random.between(0, loop.pending))
            if loop.random.chance(15) {
                // Idle long enough, sometimes, for the states to be flushed.
                try hear(loop.pending)
                Thread.sleep(forTimeInterval: Double(loop.random.below(400)) / 1_000)
            }
        }
        switch loop.random.below(3) {
        case 0: break
        case 1: Thread.sleep(forTimeInterval: Double(loop.random.below(30_000)) / 1_000_000)
        default:
            // The idle flush begins 200 ms after the last answer.
            try hear(loop.pending)
            Thread.sleep(forTimeInterval: Double(loop.random.below(400)) / 1_000)
        }
        writer.kill()
        while let line = writer.hear() { try loop.hear(line) }
    }
}
