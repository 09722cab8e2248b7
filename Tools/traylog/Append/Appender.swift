import ArgumentParser
import Traylog

/// Carries commands from an input into a store and tells what became of them.
///
/// While one batch is being committed on another thread, the next one is read and parsed, if there is anything to
/// read: no answer waits for input.
struct Appender {
    private let store: BlockingStore
    private let options: AppendOptions
    private var reader: BatchReader
    private var summary = AppendSummary()
    private var progress = ProgressBar("append", unit: "commands")
    private let output = Output(.standardOutput)
    private let isJSON: Bool
    private var hasStopped = false

    /// How long a batch that is not full waits for more input, unless the input waits for answers.
    private static let timeoutMilliseconds: Int32 = 200

    init(from source: Descriptor, to store: BlockingStore, _ options: AppendOptions, isJSON: Bool) {
        self.store = store
        self.options = options
        self.isJSON = isJSON
        reader = BatchReader(
            source, timeoutMilliseconds: options.ack ? 0 : Self.timeoutMilliseconds,
            stopsAtRefusal: !options.skipRefused)
    }

    /// - Throws: ``TraylogError``, ``SystemFailure``, or the exit code when a refusal ended the run, after its report.
    mutating func run() throws {
        let notes = try Descriptor.pipe()
        Interruption.tell(notes.writing)
        reader.interruption = notes.reading
        var committing: BackgroundCall<Result<[Batch.Outcome], TraylogError>>?
        while !hasStopped {
            let next = nextBatch(mayWait: committing == nil)
            // Reported even when reading failed: it is stored.
            if let call = committing.take() { try report(call.result().get()) }
            let batch = try next.get()
            if hasStopped || batch.isEmpty && reader.isAtEnd { break }
            if !batch.isEmpty { committing = submitting(batch) }
        }
        progress.clear()
        try printSummary()
        if hasStopped { throw ExitCode(ExitStatus.refused.rawValue) }
        // What was stored stays, and the summary has said how much that is.
        if Interruption.hasCome { throw ExitCode(128 + Interruption.signalNumber) }
    }

    private mutating func nextBatch(mayWait: Bool) -> Result<Batch, SystemFailure> {
        do throws(SystemFailure) {
            return .success(try reader.next(mayWait: mayWait))
        } catch {
            return .failure(error)
        }
    }

    private func submitting(_ batch: Batch) -> BackgroundCall<Result<[Batch.Outcome], TraylogError>> {
        BackgroundCall { [store, stopAtRefusal = !options.skipRefused] in
            do throws(TraylogError) {
                return .success(try batch.submit(to: store, stopAtRefusal: stopAtRefusal))
            } catch {
                return .failure(error)
            }
        }
    }

    private mutating func report(_ outcomes: [Batch.Outcome]) throws(SystemFailure) {
        for outcome in outcomes {
            summary.count(outcome.result)
            if options.ack { try output.json { $0.write(outcome) } }
            guard case .failure(let refusal) = outcome.result else { continue }
            hasStopped = !options.skipRefused
            progress.clear()
            Problem(refusal: refusal, line: outcome.line).report(json: isJSON)
        }
        try output.flush()
        progress.update(count: summary.read, fraction: reader.fraction)
    }

    private func printSummary() throws {
        let head = try store.head()
        if isJSON {
            try output.json { $0.write(summary, head: head) }
        } else {
            try output.line(summary.words(head: head))
        }
        try output.flush()
    }
}
