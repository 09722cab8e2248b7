import Foundation
import Testing
import TestSupport
import Traylog
import TraylogDomain

/// The built program, killed while it compacts a store or erases somebody.
@Suite struct KilledCompactionTests {
    @Test(arguments: seeds(1, nightly: 12))
    func aKilledCompactionIsBeforeOrAfterAndTheNextOneFinishesIt(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var life = CompactedLife(seed: seed, directory: directory)
            try life.append(sized(150, nightly: 500))
            var (kills, finished, round) = (0, 0, 0)
            while kills < sized(4, nightly: 80) || finished < sized(1, nightly: 2) {
                round += 1
                try within("seed \(seed), round \(round)") {
                    try life.append(life.random.between(1, 12))
                    let floor = life.log.head.rawValue * UInt64(life.random.pick([50, 80, 99, 100])) / 100
                    let arguments = ["compact", "--before", "\(floor)", "--archive", life.archives]
                    let isFinished = try life.runAndKill(arguments)
                    if isFinished { finished += 1 } else { kills += 1 }
                    try life.check(isLive: round % 2 == 0)
                }
            }
            try within("seed \(seed), at the end") {
                let run = try life.program.run(["compact", "--keep-days", "0", "--archive", life.archives])
                #expect(run.status == 0, "\(run.errors)")
                try life.check(isLive: true)
                try life.checkArchives()
            }
        }
    }

    @Test(arguments: seeds(1, nightly: 12))
    func aKilledErasureIsBeforeOrAfterAndTheNextOneFinishesIt(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var life = CompactedLife(seed: ~seed, directory: directory)
            try life.append(sized(80, nightly: 200))
            var (kills, round) = (0, 0)
            while kills < sized(3, nightly: 60) {
                round += 1
                try within("seed \(seed), round \(round)") {
                    let person = "zq-person-\(round)-zq"
                    try life.appendPerson(person)
                    let compaction = try life.program.run(["compact", "--keep-days", "0", "--archive", life.archives])
                    #expect(compaction.status == 0, "\(compaction.errors)")
                    try life.appendPerson(person)
                    var isErased = false
                    for _ in 0..<4 where !isErased {
                        if try !life.runAndKill(["erase", person, "--yes"]) { kills += 1 }
                        isErased = try life.checkErasure(of: person)
                    }
                    let run = try life.program.run(["erase", person, "--yes"])
                    #expect(run.status == 0, "\(run.errors)")
                    #expect(try life.checkErasure(of: person))
                    #expect(try life.files(with: person) == [])
                }
            }
        }
    }
}
