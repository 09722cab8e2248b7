import Foundation
import TraylogCLibrary

/// A terminal window without a window.
struct PseudoTerminal {
    private let near: FileHandle
    private let far: FileHandle

    private init(columns: UInt16) throws {
        var (nearNumber, farNumber): (Int32, Int32) = (-1, -1)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard unsafe openpty(&nearNumber, &farNumber, nil, nil, &size) == 0 else { throw POSIXError(.ENOTTY) }
        near = FileHandle(fileDescriptor: nearNumber, closeOnDealloc: true)
        far = FileHandle(fileDescriptor: farNumber, closeOnDealloc: true)
    }

    /// Runs the program in the terminal, and returns its standard output; with `withErrors` standard error, too.
    static func text(
        of arguments: [String], columns: UInt16, environment: [String: String] = [:], withErrors: Bool = false,
        in folder: String? = nil
    ) throws -> String {
        let terminal = try PseudoTerminal(columns: columns)
        let process = try TraylogRun.process(arguments, environment: environment, in: folder)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = terminal.far
        process.standardError = withErrors ? terminal.far : FileHandle.nullDevice
        try process.run()
        try terminal.far.close()
        var bytes = Data()
        var part = [UInt8](repeating: 0, count: 4_096)
        // On Linux, reading fails with an error once the other side is closed.
        while true {
            let count = unsafe read(terminal.near.fileDescriptor, &part, part.count)
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        process.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
    }
}
