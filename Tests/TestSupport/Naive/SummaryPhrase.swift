import TraylogDomain

/// What stands for the items of a group other than the newest, given newest first; nil when they count for nothing.
package func summaryPhrase(of others: [Content]) -> String? {
    let count = others.reduce(UInt64(0)) { $0 + UInt64($1.summaryCount) }
    if count == 0 { return nil }
    var names: [Name] = []
    for name in others.compactMap({ Name($0.summaryArgument) }) where !names.contains(name) { names.append(name) }
    let start = count == 1 ? "1 more notification" : "\(count) more notifications"
    let texts = names.map(\.text)
    switch texts.count {
    case 0: return start
    case 1: return "\(start) from \(texts[0])"
    case 2: return "\(start) from \(texts[0]) and \(texts[1])"
    case 3: return "\(start) from \(texts[0]), \(texts[1]) and \(texts[2])"
    default: return "\(start) from \(texts[0]), \(texts[1]) and \(texts.count - 2) others"
    }
}
