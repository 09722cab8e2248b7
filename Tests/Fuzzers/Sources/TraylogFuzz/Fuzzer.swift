import Foundation

/// What libFuzzer calls with each input; `TRAYLOG_FUZZ` names the target.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: start, count: count))
    if let complaint = target.complaint(about: bytes) { fatalError("\(target.rawValue): \(complaint)") }
    return 0
}

private let target: FuzzTarget = {
    let environment = ProcessInfo.processInfo.environment
    guard let target = FuzzTarget(rawValue: environment["TRAYLOG_FUZZ"] ?? "") else {
        print("targets: " + FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))
        exit(64)
    }
    if let directory = environment["TRAYLOG_FUZZ_SEEDS"] { writeSeeds(to: directory, of: target) }
    return target
}()

/// Writes what a store holds as a corpus to begin with, and ends the program.
private func writeSeeds(to directory: String, of target: FuzzTarget) -> Never {
    do {
        let files = FileManager.default
        let store = directory + "/.store"
        try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: store) }
        // What is at hand of the same kind again and again teaches a fuzzer little.
        for (index, seed) in (try SeedStore(directory: store, seed: 1, steps: 600).seeds[target] ?? []).enumerated()
        where index < 400 {
            try Data(seed).write(to: URL(filePath: "\(directory)/seed-\(index)"))
        }
        // The fuzzer takes a usual exit for a finding.
        _exit(0)
    } catch {
        print("no seeds: \(error)")
        _exit(74)
    }
}
