import ArgumentParser
@_spi(JSON) @_spi(Operations) @_spi(Wire) import Traylog

struct ArchiveCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive",
        abstract: "Archive the log as files that any tool can copy.",
        discussion: """
            Each file has every event from its first to its last, which name it, compressed and checksummed, and is never changed; \
            an erasure puts another in its place. A file is there once it is safe on disk. 'traylog restore DIR' makes the \
            log again from them, through any event or time, and 'traylog verify --archive DIR' checks them.

            It goes on where the files end, and needs no other state. It only reads the store, so it runs beside the program \
            that writes. Each run archives what is new; with --follow it goes on with each event, until it is interrupted: \
            a file is closed a second after its first event, or with 4 MiB. If the disk is full or fails meanwhile, it says so, \
            waits, and goes on.

            One directory has the log of one store: files of another one are refused, and nothing is overwritten. A store \
            that was restored from a copy adds a branch of its own.

            With --ship each file is copied elsewhere by a command of the shell: %p is its path, %f its name, %% a percent sign, and \
            exit status 0 says that the copy is safe. Until then the file is kept, and the command is run again, after 1, 2, 4 … 60 \
            seconds. So it may be run twice for a file, and must succeed if the same copy is there. Files of past hours and days are joined; \
            --ship-delete deletes copies that others have replaced, and those of what was erased. 'traylog health \
            --max-archive-lag' says when copies are behind.

            EXAMPLES
              traylog archive /mnt/archive
              traylog archive /mnt/archive --follow
              traylog archive /mnt/archive --follow --seconds 10 --json
              traylog archive archive --follow --ship 'rclone copyto "%p" bucket:trays/%f' \
                --ship-delete 'rclone deletefile bucket:trays/%f'
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("A directory outside of the store.", valueName: "dir"), completion: .directory)
    var place: String

    @Flag(help: "Go on with new events.")
    var follow = false

    @Option(help: ArgumentHelp("Close a file so long after its first event: 1 to 3600.", valueName: "seconds"))
    var seconds: WireNumber?

    @Option(help: ArgumentHelp("Close a file with so many MiB of events, uncompressed: 1 to 1024.", valueName: "mib"))
    var mib: WireNumber?

    @Option(help: ArgumentHelp("Copy each file elsewhere.", valueName: "command"))
    var ship: String?

    @Option(help: ArgumentHelp("Delete a copy that others have replaced.", valueName: "command"))
    var shipDelete: String?

    @Option(
        help: ArgumentHelp("End either command when it takes so long: 1 to 86400 (default: 300).", valueName: "seconds")
    )
    var shipTimeout: WireNumber?

    func validate() throws {
        try requireStore()
        if shipDelete != nil || shipTimeout != nil, ship == nil {
            throw ValidationError("'--ship-delete' and '--ship-timeout' go with '--ship'.")
        }
        _ = try options
    }

    private var options: ArchiveOptions {
        get throws {
            var options = ArchiveOptions()
            if let seconds { options.milliseconds = try seconds.of("--seconds", within: 1...3_600) * 1_000 }
            if let mib { options.bytes = try mib.of("--mib", within: 1...1_024) << 20 }
            (options.ship, options.shipDelete) = (ship, shipDelete)
            if let shipTimeout { options.shipSeconds = try shipTimeout.of("--ship-timeout", within: 1...86_400) }
            return options
        }
    }

    func run() throws {
        if follow { try goOn(try options) } else { try archive(try options) }
    }

    private func archive(_ options: ArchiveOptions) throws {
        var (files, events, bytes) = (UInt64(0), UInt64(0), UInt64(0))
        var progress = ProgressBar("archive", unit: "events")
        let through = try withReader { reader in
            let head = max(UInt64(try reader.head()), 1)
            return try reader.archive(to: place, options) { file in
                (files, events, bytes) = (files + 1, events + file.events, bytes + file.bytes)
                progress.update(count: events, fraction: Double(UInt64(file.last)) / Double(head))
            }
        }
        progress.clear()
        try printing { output in
            if global.json {
                try output.json { writer in
                    writer.beginObject()
                    writer.member("through", through)
                    writer.member("files", files)
                    writer.member("events", events)
                    writer.member("bytes", bytes)
                    writer.endObject()
                }
            } else {
                let new = files == 0 ? "nothing new" : "\(files.counted("new file")), \(bytes.asBytes)"
                try output.line("archived: events through \(through), \(new)")
            }
        }
    }

    /// Prints each file as it is there.
    private func goOn(_ options: ArchiveOptions) throws {
        let (place, isJSON) = (place, global.json)
        try withStoreReader { store in
            try EndlessCall.run(writingTo: .standardOutput) {
                var attempts = Attempts()
                while !Task.isCancelled {
                    do throws(TraylogError) {
                        try await store.upkeep.archive(
                            to: place, options, onFile: { Self.print($0, isJSON: isJSON) },
                            onProblem: { Self.say($0 ?? "it works again") })
                        return
                    } catch {
                        guard let pause = attempts.pause(after: error) else { throw error }
                        Self.say("\(error.description); it goes on in \(pause.components.seconds) s")
                        try? await Task.sleep(for: pause)
                    }
                }
            }
        }
    }

    private static func print(_ file: Archives.File, isJSON: Bool) {
        let output = Output(.standardOutput)
        if isJSON {
            try? output.json { $0.write(file) }
        } else {
            try? output.line("\(file.name)  \(file.events.counted("event")), \(file.bytes.asBytes)")
        }
        try? output.flush()
    }

    private static func say(_ text: String) {
        let output = Output(.standardError)
        try? output.line("traylog archive: \(VisibleText(text).text)")
        try? output.flush()
    }
}

/// How long to wait after a failure that may pass: 1, 2, 4 … 60 seconds.
private struct Attempts {
    private var start = ContinuousClock.now
    private var backoff = Backoff(from: .seconds(1), to: .seconds(60))
    private var isFirst = true

    /// - Returns: nil for a failure that does not pass by itself, and for one at the start, which its caller should see.
    mutating func pause(after error: TraylogError) -> Duration? {
        let now = ContinuousClock.now
        if now - start > .seconds(60) {
            backoff.reset()
            isFirst = false
        }
        guard !isFirst || now - start > .seconds(2), case .failed(let failure) = error else { return nil }
        switch failure.code {
        case .diskFull, .inputOutput, .busy, .readersFull, .outOfThreads: break
        default: return nil
        }
        let pause = backoff.pause()
        isFirst = false
        start = now + pause
        return pause
    }
}
