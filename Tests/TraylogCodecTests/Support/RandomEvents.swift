import TestSupport
import TraylogDomain

/// Any event that the types allow: more than the rules of commands would let through.
extension SeededRandom {
    mutating func event(_ kind: EventKind) -> Event {
        Event(
            seq: Seq(number()), recordedAt: time(), occurredAt: maybe { $0.time() },
            revision: UInt64(UInt32(truncatingIfNeeded: number())), user: maybe { $0.text() }, key: maybe { $0.text() },
            actor: maybe { $0.text() },
            device: maybe { $0.text() }, body: body(kind),
            commandFingerprint: maybe { $0.next() } ?? 0)
    }

    mutating func text() -> String {
        let alphabet: [String] = ["a", "Z", "7", " ", "\"", "\\", "\n", "\0", "é", "語", "🎈", "e\u{301}", "\u{7F}"]
        let length = Int.random(in: 0..<(Bool.random(using: &self) ? 8 : 300), using: &self)
        return (0..<length).map { _ in alphabet.randomElement(using: &self)! }.joined()
    }

    mutating func time() -> Timestamp {
        let range = Timestamp.rfc3339Range
        let milliseconds = Int64(bitPattern: number())
        return min(max(Timestamp(milliseconds: milliseconds), range.lowerBound), range.upperBound)
    }

    mutating func content() -> Content {
        Content(
            thread: maybe { $0.text() }, category: maybe { $0.text() }, title: maybe { $0.text() },
            body: maybe { $0.text() }, summaryArgument: maybe { $0.text() },
            summaryCount: maybe { UInt32(truncatingIfNeeded: $0.number()) } ?? 1,
            isSilent: .random(using: &self), level: .allCases.randomElement(using: &self)!,
            expiresAt: maybe { $0.time() }, remindAt: maybe { $0.time() }, notBefore: maybe { $0.time() },
            collapseKey: maybe { $0.text() },
            actions: (0..<Int.random(in: 0...3, using: &self)).map { _ in ItemAction(id: text(), label: text()) },
            data: maybe { $0.text() })
    }

    mutating func edit() -> ContentEdit {
        var edit = ContentEdit()
        edit.title = change { $0.text() }
        edit.body = change { $0.text() }
        edit.summaryArgument = change { $0.text() }
        edit.summaryCount = change { UInt32(truncatingIfNeeded: $0.number()) }
        edit.level = change { InterruptionLevel.allCases.randomElement(using: &$0)! }
        edit.expiresAt = change { $0.time() }
        edit.data = change { $0.text() }
        edit.remindAt = change { $0.time() }
        if let time = maybe({ $0.time() }) { edit.notBefore = .set(time) }
        return edit
    }

    mutating func change<Value>(_ make: (inout SeededRandom) -> Value) -> Change<Value> {
        switch Int.random(in: 0..<3, using: &self) {
        case 0: .keep
        case 1: .clear
        default: .set(make(&self))
        }
    }

    mutating func spans() -> [SubscriptionSpan] {
        (0..<Int.random(in: 0...3, using: &self)).map { _ in
            SubscriptionSpan(topic: text(), from: Seq(number()), to: Seq(number()))
        }
    }

    mutating func scope() -> MuteScope {
        [.thread(text()), .category(text()), .topic(text()), .all].randomElement(using: &self)!
    }

    mutating func filter() -> ItemFilter {
        let threads: [ItemFilter.Thread] = [.any, .unthreaded, .named(text())]
        return ItemFilter(thread: threads.randomElement(using: &self)!, category: maybe { $0.text() })
    }

    mutating func body(_ kind: EventKind) -> Event.Body {
        switch kind {
        case .notified: .notified(content())
        case .arrived:
            .arrived(
                item: Seq(number()), topic: maybe { $0.text() }, key: maybe { $0.text() }, notifiedAt: time(),
                arrived(content()))
        case .traySeen: .traySeen(upTo: Seq(number()))
        case .marked:
            .marked(
                .allCases.randomElement(using: &self)!,
                items: (0..<Int.random(in: 0..<40, using: &self)).map { _ in Seq(number()) })
        case .allMarked: .allMarked(.allCases.randomElement(using: &self)!, filter(), upTo: Seq(number()))
        case .muted: .muted(scope(), until: maybe { $0.time() })
        case .unmuted: .unmuted(scope())
        case .snoozed: .snoozed(item: Seq(number()), until: time())
        case .woken: .woken(item: Seq(number()))
        case .edited: .edited(item: Seq(number()), edit())
        case .retracted: .retracted(item: Seq(number()))
        case .subscribed: .subscribed(topic: text(), topicRevision: number())
        case .unsubscribed: .unsubscribed(topic: text(), topicRevision: number())
        case .broadcast: .broadcast(topic: text(), content())
        case .undone: .undone(event: Seq(number()))
        case .expired: .expired(item: Seq(number()))
        case .acted: .acted(item: Seq(number()), action: text(), note: maybe { $0.text() }, asOf: Seq(number()))
        case .reminded: .reminded(item: Seq(number()))
        case .erased: .erased(spans: spans())
        case .held: .held
        case .released: .released
        case .lost: .lost
        case .audited:
            .audited(
                purpose: maybe { $0.text() },
                topicRevisions: (0..<Int.random(in: 0..<4, using: &self)).map { _ in
                    TopicRevision(topic: text(), revision: maybe { $0.number() } ?? 0)
                })
        case .compacted: .compacted(through: Seq(number()), dropped: number(), archive: maybe { $0.text() })
        }
    }

    private func arrived(_ content: Content) -> Content {
        var content = content
        content.notBefore = nil
        return content
    }

    mutating func eventsOfEveryKind() -> [Event] { EventKind.allCases.map { event($0) } }
}
