@_spi(Reflection) import Swift
import Testing
import Traylog

@testable import TraylogServer
@testable import TraylogServerConsole

/// The names in the console's templates, and the members of the structs that they show.
struct TemplateTests {
    private static var pages: [any PageContent.Type] {
        [
            AudiencePage.self, ConfirmPage.self, DifferencePage.self, EventPage.self, FailedPage.self,
            FindingsPage.self, ItemPage.self, LogPage.self, LookedPage.self, OperationsPage.self, OverviewPage.self,
            PlannedPage.self, ProblemPage.self, RunPage.self, SearchPage.self, SignInPage.self, TimelinePage.self,
            TreePage.self, UserPage.self, UsersPage.self,
        ]
    }

    @Test func everyNameInATemplateIsAMemberAndEveryMemberIsInATemplate() {
        var names = TemplateNames()
        for page in Self.pages { Self.check(page, &names) }
        #expect(names.faults.sorted() == [])
        #expect(names.members.subtracting(names.shown).sorted() == [], "no template shows them")
        #expect(Set(PageTemplate.allCases).subtracting(names.templates) == [], "no page has them")
    }

    /// Mustache escapes what stands in two braces, and nothing in three or behind an ampersand.
    @Test func noTemplateWritesAValueAsItIs() {
        for template in PageTemplate.allCases {
            let text = String(decoding: template.source, as: UTF8.self)
            #expect(!text.contains("{{{"), "\(template)")
            #expect(text.firstMatch(of: #/\{\{\s*[&=]/#) == nil, "\(template)")
            #expect(!text.contains("CONTENT_TYPE"), "\(template)")
        }
    }

    @Test func aValueEndsNeitherItsElementNorItsAttribute() {
        let shown = PlainText().escapeText("<a href=\"x\" b='y'>&amp;")
        #expect(shown == "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;")
        // A mark that joins a quotation mark is one character with it.
        #expect(PlainText().escapeText("\"\u{301}") == "&quot;\u{301}")
    }

    private static func check<P: PageContent>(_ page: P.Type, _ names: inout TemplateNames) {
        let parts = names.parts(of: P.template)
        #expect((parts.count == 2) == (P.Rest.self != Never.self), "\(page) and the mark in \(P.template)")
        names.check(parts[0], of: [Frame.self, page], in: "\(P.template)")
        if parts.count == 2 { names.check(parts[1], of: [Frame.self, P.Rest.self], in: "the rest of \(P.template)") }
    }

    private struct Sample {
        struct Row {
            let title: String?
            let at: Timestamp
        }

        let seq: Seq
        let isEmpty: Bool
        let rows: [Row]
        let row: Row
    }

    @Test(
        arguments: [
            ("{{sequence}}", "sequence is no member"), ("{{#rows}}{{tittle}}{{/rows}}", "tittle is no member"),
            ("{{title}}", "title is no member"), ("{{row.titel}}", "row.titel is no member"),
            ("{{#rows}}{{.seq}}{{/rows}}", ".seq is no member"),
            ("{{#row.at}}{{time}}{{/row.at}}", "time is no member"),
            ("{{^rows}}{{title}}{{/rows}}", "title is no member"), ("{{row}}", "row is no text"),
            ("{{isEmpty}}", "isEmpty is no text"), ("{{#seq}}x{{/seq}}", "#seq is always so"),
            ("{{^row}}x{{/row}}", "^row is always so"), ("{{#empty(row)}}x{{/empty(row)}}", "row is no list"),
            ("{{>row}}", "row is no template"),
        ])
    func aNameThatIsNoMemberIsFound(text: String, fault: String) {
        var names = TemplateNames()
        names.check(text[...], of: [Sample.self], in: "sample")
        #expect(names.faults == ["sample: \(fault)"])
    }

    @Test func namesAreFoundInTheStructsAround() {
        var names = TemplateNames()
        names.check(
            "{{#rows}}{{seq}}{{#title}}{{.}}{{/title}}{{#at}}{{iso}}{{/at}}{{/rows}}", of: [Sample.self], in: "")
        names.check("{{^empty(rows)}}{{row.title}}{{row.at.text}}{{/empty(rows)}}", of: [Sample.self], in: "")
        #expect(names.faults == [])
        #expect(names.members.subtracting(names.shown).map { $0.split(separator: ".").last } == ["isEmpty"])
    }
}

/// Looks up names as the library does, in types instead of values.
private struct TemplateNames {
    /// The structs that templates show, each with its members by their names.
    private var types: [ObjectIdentifier: [String: Any.Type]] = [:]
    /// As `EventRow.Shown.seq`.
    private(set) var members: Set<String> = []
    private(set) var shown: Set<String> = []
    private(set) var templates: Set<PageTemplate> = []
    private(set) var faults: Set<String> = []

    /// The parts above and below the mark.
    mutating func parts(of template: PageTemplate) -> [Substring] {
        templates.insert(template)
        return String(decoding: template.source, as: UTF8.self).split(separator: "{{! rest }}\n", maxSplits: 1)
    }

    /// - Parameter stack: the structs in which names are looked up, the innermost last.
    mutating func check(_ text: Substring, of stack: [Any.Type], in place: String) {
        for type in stack { learn(type) }
        var stack = stack.map(Optional.some)
        let outermost = stack.count
        for tag in text.matches(of: #/\{\{([#^\/>]?)([^{}!%]+)\}\}/#) {
            let (sign, name) = (tag.1, String(tag.2))
            func fault(_ words: String) { faults.insert("\(place): \(words)") }
            if sign == "/" {
                stack.removeLast()
                continue
            }
            if sign == ">" {
                guard let template = PageTemplate(rawValue: name) else {
                    fault("\(name) is no template")
                    continue
                }
                for part in parts(of: template) { check(part, of: stack.compactMap(\.self), in: "\(template)") }
                continue
            }
            let inner = name.wholeMatch(of: #/empty\((.*)\)/#).map { String($0.1) }
            guard let found = find(inner ?? name, in: stack.compactMap(\.self)) else {
                fault("\(inner ?? name) is no member")
                if !sign.isEmpty { stack.append(nil) }
                continue
            }
            if let inner, !(found is any List.Type) { fault("\(inner) is no list") }
            let isText = Self.content(found) == String.self || Self.content(found) == Seq.self
            let isOptional = found is any Maybe.Type || found is any List.Type || found == Bool.self
            switch sign {
            case "" where !isText || found is any List.Type: fault("\(name) is no text")
            case "#", "^":
                if !isOptional, isText || sign == "^" { fault("\(sign)\(name) is always so") }
                stack.append(sign == "^" || inner != nil || found == Bool.self ? nil : Self.content(found))
            default: break
            }
        }
        #expect(stack.count == outermost, "\(place)")
    }

    /// The type of a name; nil for one that nothing has.
    private mutating func find(_ name: String, in stack: [Any.Type]) -> (Any.Type)? {
        if name == "." { return stack.last }
        let names = name.split(separator: ".").map(String.init)
        let owners = name.hasPrefix(".") ? stack.suffix(1) : stack[...]
        guard let owner = owners.last(where: { types[ObjectIdentifier($0)]?[names[0]] != nil }) else { return nil }
        var type = owner
        for name in names {
            let holder = Self.content(type)
            guard let member = types[ObjectIdentifier(holder)]?[name] else { return nil }
            shown.insert("\(String(reflecting: holder)).\(name)")
            type = member
        }
        return type
    }

    private mutating func learn(_ type: Any.Type) {
        let type = Self.content(type)
        guard types[ObjectIdentifier(type)] == nil, type != String.self, type != Bool.self, type != Seq.self else {
            return
        }
        if type == Timestamp.self {
            types[ObjectIdentifier(type)] = ["iso": String.self, "text": String.self]
            return
        }
        var found: [String: Any.Type] = [:]
        _ = unsafe _forEachField(of: type) { name, _, type, _ in
            found[unsafe String(cString: name)] = type
            return true
        }
        types[ObjectIdentifier(type)] = found
        for (name, member) in found {
            members.insert("\(String(reflecting: type)).\(name)")
            learn(member)
        }
    }

    /// What is inside of optionals and arrays.
    private static func content(_ type: Any.Type) -> Any.Type {
        if let type = type as? any Maybe.Type { return content(type.wrapped) }
        if let type = type as? any List.Type { return content(type.element) }
        return type
    }
}

private protocol Maybe { static var wrapped: Any.Type { get } }
private protocol List { static var element: Any.Type { get } }
extension Optional: Maybe { static var wrapped: Any.Type { Wrapped.self } }
extension Array: List { static var element: Any.Type { Element.self } }
