import Foundation
@_spi(Operations) import Traylog
import TraylogDomain

/// A workload on a new store in which one operation fails, and the checks of everything that must hold then.
///
/// The call that meets the fault names it. Acknowledged events stay, and answers are right, while the fault lasts and
/// afterwards; once the fault is gone the same store goes on, and the next opening finds everything in order.
package struct FaultRun {
    private static let idleNanoseconds: UInt64 = 100_000_000

    private let point: FaultPoint
    private let directory: String
    private let injector: FaultInjector
    private var generator: HistoryGenerator
    private var random: SeededRandom
    /// What was acknowledged.
    private var naive = NaiveStore()
    private var store: Store?
    /// The fault was met, and is gone.
    private var isOver = false
    private var lastCall: UInt64 = 0

    package init(_ point: FaultPoint, directory: String, injector: FaultInjector) {
        self.point = point
        self.directory = directory
        self.injector = injector
        generator = HistoryGenerator(seed: point.seed, mix: point.workload.mix)
        random = SeededRandom(seed: ~point.seed)
    }

    private var path: String { directory + "/store" }

    /// - Returns: the number of acknowledged events looked for at the end.
    /// - Throws: ``LostEvents``, or a ``Difference``.
    package mutating func run() throws -> UInt64 {
        injector.arm(path, at: point.operation, point.fault)
        defer {
            injector.lift()
            store?.close()
        }
        try open()
        for step in 1...point.steps {
            try perform()
            if point.workload == .growing || point.workload == .reopening, step % 3 == 0 {
                store?.close()
                store = nil
                try open()
            }
        }
        // Closing reports no error: states that it cannot store are derived from the log.
        store?.close()
        store = nil
        injector.lift()
        try verify()
        return naive.head.rawValue
    }

    // MARK: Steps

    private mutating func open() throws {
        do throws(TraylogError) {
            store = try opened()
        } catch {
            try check(error)
            try readElsewhere()
            end()
            store = try opened()
        }
        guard point.workload == .projections, let store else { return }
        _ = try store.project(MainDigest.self, storedEveryMilliseconds: 0)
        _ = try store.project(Weighted<Bulk>.self, storedEveryMilliseconds: 0)
    }

    private func opened() throws(TraylogError) -> Store {
        try Store.open(path, options: point.workload.options(isRelaxed: point.isRelaxed))
    }

    private mutating func perform() throws {
        guard let store else { return }
        var ahead = naive
        let count = point.workload == .batches ? random.between(1, 8) : 1
        let step = TortureStep(&generator, &ahead, commands: count)
        let before = injector.fired
        let wasIdle = DispatchTime.now().uptimeNanoseconds > lastCall + Self.idleNanoseconds
        do {
            try step.perform(on: store)
            if !wasIdle { try checkNotice(firedBefore: before) }
            naive = ahead
        } catch let error as TraylogError {
            try fail(error, store, step.models(naive, ahead, at: store.head()))
        }
        lastCall = DispatchTime.now().uptimeNanoseconds
    }

    /// An append that succeeds has not met the fault, unless the store wrote by itself meanwhile.
    private func checkNotice(firedBefore before: Int) throws {
        guard injector.fired > before, before == 0, injector.concernsData, !point.isRelaxed,
            point.workload != .projections
        else { return }
        throw Difference(path: ["append"], expected: point.fault.words, found: "an answer")
    }

    // MARK: The fault

    /// - Parameter models: what the store may hold.
    private mutating func fail(_ error: TraylogError, _ store: Store, _ models: [NaiveStore]) throws {
        try check(error)
        let model = try within("reads meanwhile") { try TorturedStore.read(store, models, &random) }
        if point.fault.lasts {
            do throws(TraylogError) {
                let receipt = try store.perform(Command(user: "ann", .notify(Content(title: "Hi"))))
                throw .refused(.invalid(field: "append", reason: "\(receipt) on a disk that takes nothing"))
            } catch {
                try check(error)
            }
            _ = try within("reads after another append") { try TorturedStore.read(store, [model], &random) }
        }
        end()
        naive = model
    }

    /// A later opening may meet a fault that no operation has met yet.
    private mutating func end() {
        injector.lift()
        isOver = true
    }

    private func check(_ error: TraylogError) throws {
        guard !isOver, injector.fired > 0, case .failed(let failure) = error else {
            throw Difference(path: ["after the fault"], expected: "no error", found: "\(error)")
        }
        // LMDB mistakes a short write for a full disk while it creates the file.
        let isOtherName = point.fault.effect == .half && failure.code == .diskFull
        let expected = isOtherName ? Fault(error: .noSpace, effect: .half, lasts: true) : point.fault
        try expectSame(expected.code, failure.code, "code of \(failure.message)")
        try expectSame(true, failure.message.lowercased().contains(expected.words), failure.message)
    }

    /// A process that cannot open the store for writing can read it.
    private mutating func readElsewhere() throws {
        guard naive.head > .zero else { return }
        try within("reads without a writer") {
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            _ = try TorturedStore.read(reader, [naive], &random)
        }
    }

    // MARK: Afterwards

    private mutating func verify() throws {
        try within("afterwards") { try TorturedStore.verify(path, &naive, &random) }
        guard point.workload == .projections else { return }
        let reader = try StoreReader.open(path)
        defer { reader.close() }
        let digest = try reader.projected(MainDigest.self)
        let events = try reader.events(from: 1, limit: .max).elements
        try expectSame(true, digest.value == MainDigest.folded(events), "the projection is the fold of the log")
        for stored in try reader.storedProjections() { try expectSame(nil, stored.damage, stored.name) }
    }
}
