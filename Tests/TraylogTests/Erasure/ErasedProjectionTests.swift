import Foundation
import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// Values of custom projections, which may hold anything that was in an event, across an erasure.
@Suite struct ErasedProjectionTests {
    private static let mark = "zq-person-zq"

    private func files(_ directory: String) throws -> [String] {
        let files = try #require(FileManager.default.enumerator(atPath: directory)).compactMap { $0 as? String }
        return files.filter { file in
            let data = FileManager.default.contents(atPath: directory + "/" + file)
            return data?.range(of: Data(Self.mark.utf8)) != nil
        }
    }

    /// Ten events of the person, among those of others, and as many as it takes for several chunks of a value.
    private func fill(_ store: Store) throws {
        for number in 0..<300 {
            let user = number % 30 == 0 ? Self.mark : "user\(number % 7)"
            let body = String(repeating: user, count: 40)
            _ = try store.perform(Command(user: user, .notify(Content(title: "t", body: body))))
        }
    }

    @Test func anErasureFoldsAProjectionAnewAndStoresNothingOfThePerson() throws {
        try withStorePath { path in
            try withStore(path) { store in
                let projector = try store.project(Texts.self, storedEveryMilliseconds: 0)
                try fill(store)
                #expect(try projector.value().texts.count { $0.contains(Self.mark) } == 10)
                _ = try store.erase(Self.mark)
                #expect(try projector.value() == Texts.folded(try store.events(limit: .max).elements))
                #expect(try files(path) == [])
            }
            #expect(try files(path) == [])
            try withStore(path) { store in
                let projector = try store.project(Texts.self)
                guard case .resumed = projector.progress.origin else {
                    Issue.record("\(projector.progress.origin)")
                    return
                }
                #expect(try projector.value() == Texts.folded(try store.events(limit: .max).elements))
            }
            #expect(try findings(path) == [])
        }
    }

    @Test func anErasureRemovesTheStoredValueOfAProjectionThatNobodyRuns() throws {
        try withStorePath { path in
            try withStore(path) { store in
                let projector = try store.project(Texts.self)
                try fill(store)
                _ = try projector.value()
                projector.stop()
                #expect(try store.storedProjections().count == 1)
            }
            try withStore(path) { store in
                _ = try store.erase(Self.mark)
                #expect(try store.storedProjections() == [])
                #expect(try files(path) == [])
                let projector = try store.project(Texts.self)
                #expect(projector.progress.origin == .new)
                #expect(try projector.value() == Texts.folded(try store.events(limit: .max).elements))
            }
            #expect(try files(path) == [])
        }
    }

    /// An answer that the program keeps goes on from where it was, but never with somebody who was erased since.
    @Test(arguments: [true, false], [true, false])
    func anAnswerThatIsAdvancedHasNothingOfThePerson(isRunning: Bool, goesOn: Bool) throws {
        try withStorePath { path in
            try withStore(path) { store in
                let projector = isRunning ? try store.project(Texts.self, storedEveryMilliseconds: 0) : nil
                try fill(store)
                let reader = try StoreReader.open(path).blocking
                defer { reader.close() }
                var answers = [try store.projected(Texts.self), try reader.projected(Texts.self)]
                #expect(answers.allSatisfy { $0.value.texts.count { $0.contains(Self.mark) } == 10 })
                _ = try store.erase(Self.mark)
                if goesOn { _ = try store.perform(notify("user1", "later")) }
                try store.advance(&answers[0])
                try reader.advance(&answers[1])
                let folded = Texts.folded(try store.events(limit: .max).elements)
                for answer in answers {
                    #expect(answer.value == folded && answer.origin == .new)
                    #expect(answer.position == (try store.head()))
                }
                // The name may belong to somebody else by now, whose events stay.
                _ = try store.perform(notify(Self.mark, "new"))
                try store.advance(&answers[0])
                #expect(answers[0].value == Texts.folded(try store.events(limit: .max).elements))
                projector?.stop()
            }
        }
    }

    @Test(arguments: seeds(1, nightly: 40))
    func aProjectionThatRunsAndStoresAllTheTimeStoresNothingOfThePerson(seed: UInt64) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                try fill(store)
                let projector = try store.project(Texts.self, storedEveryMilliseconds: 0)
                let isOver = Monitor(false)
                let appender = startThread("appender") {
                    var number = 0
                    while !isOver.withLock({ $0 }) {
                        number += 1
                        _ = try? store.perform(notify("user\(number % 7)", "\(number)"))
                    }
                }
                // Starting and stopping, which reads and writes the stored value.
                let restarter = startThread("restarter") {
                    while !isOver.withLock({ $0 }) {
                        guard let digest = try? store.project(OtherTexts.self, storedEveryMilliseconds: 0) else {
                            return
                        }
                        _ = try? digest.value()
                        digest.stop()
                    }
                }
                _ = try projector.value()
                _ = try store.erase(Self.mark)
                isOver.withLock { $0 = true }
                appender.join()
                restarter.join()
                #expect(try projector.value() == Texts.folded(try store.events(limit: .max).elements), "seed \(seed)")
                let other = try store.project(OtherTexts.self)
                #expect(try other.value().base == Texts.folded(try store.events(limit: .max).elements), "seed \(seed)")
                #expect(try files(path) == [], "seed \(seed)")
            }
            #expect(try files(path) == [], "seed \(seed)")
            #expect(try findings(path) == [], "seed \(seed)")
        }
    }
}

/// A projection that keeps personal data: names and texts.
private struct Texts: Projection, Hashable {
    static var name: String { "texts" }
    static var version: UInt32 { 1 }

    var texts: [String] = []

    mutating func apply(_ event: Event) {
        guard case .notified(let content) = event.body else { return }
        texts.append("\(event.user ?? "") \(content.body ?? "")")
    }

    func encoded() -> [UInt8] { Array(texts.joined(separator: "\n").utf8) }

    init() {}

    init(decoding bytes: [UInt8]) {
        texts = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// The same under another name.
private struct OtherTexts: Projection {
    static var name: String { "texts again" }
    static var version: UInt32 { 1 }

    var base = Texts()

    init() {}
    init(decoding bytes: [UInt8]) { base = Texts(decoding: bytes) }
    mutating func apply(_ event: Event) { base.apply(event) }
    func encoded() -> [UInt8] { base.encoded() }
}
