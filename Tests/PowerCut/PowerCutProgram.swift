import Foundation
import TestSupport

/// The program of the power-cut tests: one process records a workload, another checks what power cuts leave of it.
///
/// A process of its own, because the recorder must be under the whole of it, and because a check that fails badly
/// ends its process.
///
///     traylog-powercut record DIRECTORY                          DIRECTORY/recording.json says what
///     traylog-powercut watch DIRECTORY                           reads beside that until DIRECTORY/ended is there
///     traylog-powercut check DIRECTORY COUNT [SYNCS]             so many points
///     traylog-powercut creation DIRECTORY COUNT                  the same before the first acknowledgement
///     traylog-powercut point DIRECTORY EVENTS VARIATION [SYNCS]  one again
@main
enum PowerCutProgram {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { throw Usage() }
        let json = try Data(contentsOf: URL(filePath: arguments[1] + "/recording.json"))
        let recording = try JSONDecoder().decode(Recording.self, from: json)
        let numbers = arguments.dropFirst(2).compactMap { Int($0) }
        let syncs = arguments.dropFirst(2).compactMap { SimulatedDisk.Syncs(rawValue: $0) }.first ?? .honest
        switch (arguments[0], numbers.count) {
        case ("record", 0): try recording.record()
        case ("watch", 0): try recording.watch()
        case ("check", 1), ("creation", 1):
            let check = try PowerCutCheck(recording)
            try run(check, check.points(numbers[0], isCreation: arguments[0] == "creation"), syncs)
        case ("point", 2):
            try run(PowerCutCheck(recording), [CutPoint(events: numbers[0], variation: numbers[1])], syncs)
        default: throw Usage()
        }
    }

    /// Says which point comes next, so that the last one is known whatever happens; the report is the last line.
    private static func run(_ check: PowerCutCheck, _ points: [CutPoint], _ syncs: SimulatedDisk.Syncs) throws {
        var check = check
        do {
            let report = try check.run(points, syncs: syncs) { point, directory in
                say("point \(point.events) \(point.variation) \(directory)\n")
            }
            say(String(decoding: try JSONEncoder().encode(report), as: UTF8.self) + "\n")
        } catch {
            say("\(error)\n")
            exit(1)
        }
    }

    private static func say(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    private struct Usage: Error {}
}
