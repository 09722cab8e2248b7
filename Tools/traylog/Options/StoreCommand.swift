import ArgumentParser
import Traylog

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

    func validate() throws {
        try requireStore()
        FatalSignal.handle(store: directory)
    }

    func requireStore() throws {
        guard global.directory != nil else {
            throw ValidationError("Missing store: name its directory with '--store <dir>' or in TRAYLOG_STORE.")
        }
    }

    /// Asks a store that exists.
    func withReader<Answer>(_ body: (StoreReader) throws -> Answer) throws -> Answer {
        let reader = try StoreReader.open(directory)
        defer { reader.close() }
        return try body(reader)
    }

    /// Changes a store, which is created where it is missing. Time passes by `tick` alone.
    func writing<Answer>(_ body: (Store) throws(TraylogError) -> Answer) throws(TraylogError) -> Answer {
        let store = try openForWriting()
        defer { store.close() }
        return try body(store)
    }

    func openForWriting() throws(TraylogError) -> Store {
        var options = StoreOptions()
        options.ticking = .manual
        return try Store.open(directory, options: options)
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
