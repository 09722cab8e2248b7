import Traylog
import TraylogDomain

extension CompactedLife {
    /// Kills one command that rewrites the store or derives its states again, and compares the remaining store.
    package mutating func killRewrite() throws {
        try append(log.head == .zero ? 300 : random.between(1, 12))
        let floor = log.head.rawValue * UInt64(random.pick([50, 80, 99, 100])) / 100
        let compaction = ["compact", "--before", "\(floor)", "--archive", archives]
        _ = try runAndKill(random.chance(25) ? ["replay", "--rebuild"] : compaction)
        try check(isLive: random.chance(50))
    }

    /// Erases somebody whose events lie in the log and in an archive, killed once and then not, and looks for what is left.
    ///
    /// - Parameter number: another one each time.
    package mutating func killErasure(_ number: Int) throws {
        let person = "zq-person-\(number)-zq"
        try appendPerson(person)
        try expectDone(["compact", "--keep-days", "0", "--archive", archives])
        try appendPerson(person)
        _ = try runAndKill(["erase", person, "--yes"])
        if try !checkErasure(of: person) {
            try expectDone(["erase", person, "--yes"])
            try expectSame(true, try checkErasure(of: person), "whether somebody is erased")
        }
        // What a killed run left of an archive is gone with the next one.
        try expectDone(["erase", person, "--yes"])
        try expectSame([], try files(with: person), "files with the name of somebody who was erased")
    }

    private func expectDone(_ command: [String]) throws {
        let run = try program.run(command)
        guard run.status == 0 else {
            throw Difference(
                path: [command.joined(separator: " ")], expected: "status 0", found: "\(run.status): \(run.errors)")
        }
    }
}
