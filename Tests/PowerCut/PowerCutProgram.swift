import Foundation
import TestSupport

/// The program of the power-cut tests: one process records a workload, another checks what power cuts leave of it.
///
/// A process of its own, because the recorder must be under the whole of it, and because a check that fails badly
/// ends its process.
///
///     traylog-powercut record DIRECTORY                          DIRECTORY/recording.json says what
///     traylog-powercut watch DIRECTORY                           reads beside that until DIRECTORY/ended is there
///     traylog-powercut check DIRECTORY COUNT [FAULT]             so many points
///     traylog-powercut creation DIRECTORY COUNT                  the same before the first acknowledgement
///     traylog-powercut point DIRECTORY EVENTS VARIATION [FAULT]  one again
@main
enum PowerCutProgram {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { throw Usage() }
        let json = try Data(contentsOf: URL(filePath: arguments[1] + "/recording.json"))
        let recording = try JSONDecoder().decode(Recording.self, from: json)
        let numbers = arguments.dropFirst(2).compactMap { Int($0) }
        let fault = arguments.dropFirst(2).compactMap { PlantedFault(rawValue: $0) }.first ?? .none
        switch (arguments[0], numbers.count) {
        case ("record", 0): try recording.record()
        case ("watch", 0): try recording.watch()
        case ("check", 1), ("creation", 1):
            let check = try PowerCutCheck(recording)
            try run(check, check.points(numbers[0], isCreation: arguments[0] == "creation"), fault)
        case ("point", 2):
            try run(PowerCutCheck(recording), [CutPoint(events: numbers[0], variation: numbers[1])], fault)
        default: throw Usage()
        }
    }

    /// Says which point comes next, so that the last one is known whatever happens; the report is the last line.
    private static func run(_ check: PowerCutCheck, _ points: [CutPoint], _ fault: PlantedFault) throws {
        var check = check
        do {
            let report = try check.run(points, fault: fault) { point, directory in
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
