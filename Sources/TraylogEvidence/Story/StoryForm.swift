import TraylogAudit
import TraylogDomain
import TraylogJSON

/// The page that a story is handed out as (Docs/reference/json.md, "Stories"): all of it follows from its one line of JSON.
enum StoryForm {
    /// How the page begins.
    static let head = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <title>What happened to an item, with proofs</title>
        <style>
        :root { color-scheme: light dark; }
        body { margin: 0; font: 16px/1.55 system-ui, sans-serif; }
        main { max-width: 46rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; overflow-wrap: anywhere; }
        h1 { font-size: 1.6rem; line-height: 1.25; margin: .2rem 0 .8rem; }
        h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
        h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
        .small { font-size: .875rem; opacity: .8; }
        .story { padding: 1rem 1.25rem 1rem 2.5rem; border: 1px solid; border-left-width: 4px; border-radius: 4px; }
        .story li { margin: .3rem 0; }
        .source { font-size: .875rem; white-space: nowrap; }
        dl { margin: 0; display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: .15rem 1rem; }
        dt { opacity: .75; }
        dd { margin: 0; white-space: pre-wrap; }
        pre { white-space: pre-wrap; font: .8125rem/1.5 ui-monospace, monospace; padding: .75rem; border: 1px solid; border-radius: 4px; }
        @media (max-width: 30rem) { dl { display: block; } dd { margin-bottom: .4rem; } }
        @media print { main { max-width: none; padding: 0; } section { break-inside: avoid; } }
        </style>
        </head>
        <body>
        <main>

        """
    /// How the line of JSON begins and ends; no other line begins so, because text has no `<`.
    static let proofStart = Array(#"<pre id="proof">"#.utf8)
    static let proofEnd = Array("</pre>".utf8)

    // MARK: JSON

    /// What a checkpoint signs of a story: its person, its item and its proofs.
    static func stated(_ user: String, _ item: Seq, _ proofs: [[UInt8]]) -> JSONWriter {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("story")
        writer.beginObject()
        writer.member("user", user)
        writer.member("item", item)
        writer.endObject()
        writer.member("proofs", each: proofs) { $0.raw(String(decoding: $1, as: UTF8.self)) }
        return writer
    }

    /// The line that the checkpoint has for a story.
    static func mark(_ stated: JSONWriter) -> String { "traylog-story \(FileSeal.hash(stated.bytes))" }

    /// The line of JSON.
    static func json(_ stated: JSONWriter, checkpoint note: String) -> [UInt8] {
        var writer = stated
        writer.member("checkpoint", note)
        writer.member("seal", FileSeal.hash(writer.bytes))
        writer.endObject()
        return writer.bytes
    }

    // MARK: HTML

    /// The whole page.
    static func page(_ proved: ProvedStory, _ checkpoint: Checkpoint, json: [UInt8]) -> String {
        var page = head
        func line(_ text: String) { page += text + "\n" }
        line(#"<p class="small">What happened to an item, with proofs</p>"#)
        line("<h1><bdi>\(escaped(proved.title ?? "Item \(proved.item)"))</bdi></h1>")
        line(
            "<p>Item \(proved.item) of <bdi>\(escaped(proved.user))</bdi>, as the log "
                + "<bdi>\(escaped(checkpoint.origin))</bdi> had it after \(checkpoint.head.size) events.</p>")
        line(#"<ol class="story">"#)
        for clause in proved.story.clauses {
            let source = proved.source(of: clause)
            let linked = clause.event.map { "<a href=\"#e\($0)\">\(source)</a>" } ?? source
            line("<li><bdi>\(escaped(clause.text()))</bdi> <span class=\"source\">[\(linked)]</span></li>")
        }
        line("</ol>")
        line(
            "<p class=\"small\">The event behind a sentence shows that it is so; it stands below as it is in the log. What was "
                + "undone no longer counts; its own event and the one that undid it are both below. “Stated” means that something "
                + "never happened, which no event can show. The log’s owner signed this page, and so says that nothing else "
                + "happened to the item.</p>")
        line("<h2>The events</h2>")
        for event in proved.events {
            line("<section id=\"e\(event.seq)\">")
            line("<h3>Event \(event.seq)</h3>")
            line("<dl>")
            for member in members(of: event) {
                line("<dt>\(member.name)</dt><dd><bdi>\(escaped(member.text))</bdi></dd>")
            }
            line("</dl>")
            line("</section>")
        }
        line("<h2>How to check this page</h2>")
        line(
            "<p>Get the log owner’s public key, or a tree head of \(checkpoint.head.size) events, from somewhere else than this "
                + "page. Then run one of two independent programs. It works the sentences out again, and rejects the page if "
                + "anything in it was changed:</p>"
        )
        line("<pre>traylog check FILE --public-key KEY")
        line("python3 auditor.py --check FILE --public-key KEY</pre>")
        line("<p class=\"small\">The root of the log’s tree: \(checkpoint.head.root.hex)</p>")
        line("<h2>The proofs</h2>")
        line("<pre id=\"proof\">\(escaped(String(decoding: json, as: UTF8.self)))</pre>")
        line("</main>")
        line("</body>")
        line("</html>")
        return page
    }

    /// The members of an event as `show --json` has them, but `data`, which stands in the proof alone.
    private static func members(of event: Event) -> [(name: String, text: String)] {
        var writer = JSONWriter()
        writer.write(event)
        let text = writer.bytes.span
        guard let members = try? MemberValues(text, "event") else { return [] }
        let inOrder = members.all.sorted { $0.value.lowerBound < $1.value.lowerBound }
        return inOrder.filter { $0.key != "data" }.map { name, range in
            (name, (try? members.string(name, in: text)) ?? String(decoding: writer.bytes[range], as: UTF8.self))
        }
    }

    /// Text in HTML; a carriage return, too, because it must come back as it was.
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
            case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
            case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
            case 0x0D: bytes += Array("&#13;".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text that ``escaped(_:)`` wrote of JSON, which has no carriage return.
    static func unescaped(_ bytes: [UInt8]) -> [UInt8] {
        var (text, rest) = ([UInt8](), bytes[...])
        let names: [(name: [UInt8], byte: UInt8)] = [
            (Array("&amp;".utf8), UInt8(ascii: "&")), (Array("&lt;".utf8), UInt8(ascii: "<")),
            (Array("&gt;".utf8), UInt8(ascii: ">")),
        ]
        while let first = rest.first {
            if first == UInt8(ascii: "&"), let found = names.first(where: { rest.starts(with: $0.name) }) {
                text.append(found.byte)
                rest = rest.dropFirst(found.name.count)
            } else {
                text.append(first)
                rest = rest.dropFirst()
            }
        }
        return text
    }
}
