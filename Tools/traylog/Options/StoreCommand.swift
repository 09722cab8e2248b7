import ArgumentParser
@_spi(Replication) @_spi(Operations) @_spi(JSON) @_spi(Wire) import Traylog
@_spi(JSON) import TraylogJSON

/// A command that works on a store.
protocol StoreCommand: ParsableCommand {
    var global: GlobalOptions { get }

    /// Refusals go to standard error as JSON.
    var wantsJSONRefusals: Bool { get }
}

extension StoreCommand {
    var wantsJSONRefusals: Bool { global.json }

    /// The store's directory; ``validate()`` has made sure that there is one.
    var directory: String { global.directory ?? "" }

    func validate() throws { try requireStore() }

    /// Makes sure that a store is named, and that a page of it that cannot be read ends the command with words.
    func requireStore() throws {
        // A shell variable that is not set must not lead to another store.
        if global.store == "" { throw ValidationError("'--store' is empty: name the store's directory.") }
        if global.store == nil, let problem = TypedArguments.problem(ofVariable: "TRAYLOG_STORE") {
            throw ValidationError(problem)
        }
        _ = try global.waitSeconds
        guard global.directory != nil else {
            throw ValidationError("Missing store: name its directory with '--store <dir>' or in TRAYLOG_STORE.")
        }
        FatalSignal.handle(store: directory)
    }

    /// Asks a store that exists.
    func withReader<Answer>(_ body: (BlockingReader) throws -> Answer) throws -> Answer {
        try withStoreReader { try body($0.blocking) }
    }

    /// The same for what goes on until it is interrupted.
    func withStoreReader<Answer>(_ body: (StoreReader) throws -> Answer) throws -> Answer {
        let reader = try StoreReader.open(directory)
        defer { reader.blocking.close() }
        return try body(reader)
    }

    /// Changes a store, which is created where it is missing.
    ///
    /// Time passes by `tick` alone.
    func writing<Answer>(_ body: (BlockingStore) throws(TraylogError) -> Answer) throws(TraylogError) -> Answer {
        let store = try openForWriting()
        defer { store.close() }
        return try body(store)
    }

    /// - Parameter mayAsk: whether the command asks a running server instead, so that it waits for none.
    func openForWriting(mayAsk: Bool = false) throws(TraylogError) -> BlockingStore {
        var options = StoreOptions()
        options.ticking = .manual
        let end = ContinuousClock.now + .seconds((try? global.waitSeconds) ?? 0)
        while true {
            do throws(TraylogError) {
                return try Store.open(directory, options: options).blocking
            } catch {
                guard case .failed(let failure) = error, failure.code == .openForWriting, ContinuousClock.now < end,
                    !mayAsk || RunningServer(of: directory) == nil
                else {
                    throw error
                }
                Pause.milliseconds(50)
            }
        }
    }

    /// Says on standard error when nobody of that name has events: the answer would look as if all were well.
    func noteIfUnknown(_ user: String, _ reader: some BlockingQueries) throws {
        guard try !reader.isKnown(user) else { return }
        let output = Output(.standardError)
        try output.line("traylog: note: there is no user \"\(VisibleText(user).text)\" in this store")
        try output.flush()
    }

    /// Says on standard error when a range begins below the floor and no archive is read: it looks whole, and may not be.
    ///
    /// - Throws: the refusal of a moment below the floor, which says it instead.
    func noteIfCompacted(
        from moment: Moment, asOf: Moment?, _ reader: BlockingReader, archive: ArchiveOption
    ) throws {
        if let asOf { _ = try reader.seq(of: asOf) }
        guard archive.directory == nil else { return }
        do throws(TraylogError) {
            _ = try reader.seq(of: moment)
        } catch {
            guard case .refused(.compacted(let floor, let name)) = error else { return }
            let output = Output(.standardError)
            let advice =
                name.map { "; '--archive DIR' includes them, the newest of them in \(VisibleText($0).text)" }
                ?? ""
            let note = "compactions may have taken events before event \(floor) out of the log\(advice)"
            if global.json {
                var writer = JSONWriter()
                writer.beginObject()
                writer.member("note", "compacted")
                writer.member("message", note)
                writer.member("floor", UInt64(floor))
                writer.endObject()
                try output.line(String(decoding: writer.bytes, as: UTF8.self))
            } else {
                try output.line("traylog: note: \(note)")
            }
            try output.flush()
        }
    }

    /// Records in the log that this user reads what is stored about a person, where the store's server records that.
    ///
    /// Nobody reads unrecorded: what cannot be recorded is not shown. The variable TRAYLOG_PURPOSE says what for.
    func recordReading(of user: String) throws {
        guard UpkeepRecord.read(directory).recordsAccessSince != nil else { return }
        let (reader, device) = (Environment.userName, "command line")
        let purpose = Environment.value(of: "TRAYLOG_PURPOSE")
        try asOwner(
            { try $0.recordReading(of: user, actor: reader, device: device, purpose: purpose) },
            asking: { server in
                let members = [("actor", reader), ("device", device), ("purpose", purpose)]
                let answer = try server.send("POST", "reads", of: user, members, flags: ["hourly"])
                return answer.map { _ in }
            })
    }

    /// Records what a check of the whole store found, so that `health` and the server know it.
    ///
    /// A store on a medium that is read-only keeps no record; where something was found, standard error says so.
    func record(_ check: UpkeepRecord.Check, findings: [String], head: Seq) {
        do throws(TraylogError) {
            try UpkeepRecord.note(check, findings: findings, head: head, in: directory)
        } catch {
            guard !findings.isEmpty || !UpkeepRecord.read(directory).failures.isEmpty else { return }
            let output = Output(.standardError)
            try? output.line(
                "traylog: note: 'health' will not know the outcome of this check: \(VisibleText(error.description).text)"
            )
            try? output.flush()
        }
    }

    /// Says on standard error what to do about what a check found.
    func tellNext(_ check: UpkeepRecord.Check, _ findings: [String]) {
        tell(NextStep.after(check, findings: findings, UpkeepRecord.read(directory), store: directory))
    }

    func tell(_ steps: [NextStep]) {
        let output = Output(.standardError)
        // Nothing is left to report to when this fails.
        for step in steps { try? output.line("traylog: next: \(VisibleText(step.command).text) (\(step.purpose))") }
        try? output.flush()
    }

    /// Prints what `body` writes, the rest of it in any case.
    func printing(_ body: (Output) throws -> Void) throws {
        let output = Output(.standardOutput)
        do {
            try body(output)
        } catch {
            // The first error is the one to tell.
            try? output.flush()
            throw error
        }
        try output.flush()
    }
}
