import ArgumentParser
@_spi(Operations) import Traylog

struct MutesCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutes",
        abstract: "Show what a user has muted, and until when.",
        discussion: """
            EXAMPLES
              traylog mutes alice
              traylog mutes alice --as-of 1200 --json
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup var moment: MomentOption

    func run() throws {
        try recordReading(of: user)
        let mutes = try withReader { reader in
            if !global.json { try noteIfUnknown(user, reader) }
            return try reader.mutes(of: user, asOf: moment.asOf)
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(mutes) }
            } else {
                try output.lines(mutes.lines)
            }
        }
    }
}

extension Mutes {
    fileprivate var lines: [String] {
        guard !mutes.isEmpty else { return ["Nothing is muted."] }
        return mutes.map { mute in
            "\(mute.scope.words), since \(mute.since.localText)" + (mute.until.map { ", until \($0.localText)" } ?? "")
        }
    }
}
