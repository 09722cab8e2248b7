import Testing

/// The frequency of each command in a history.
struct TrayMix: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var notify = 50
    var mark = 15
    var markAll = 4
    var see = 3
    var mute = 3
    var edit = 8
    var retract = 3
    var again = 4
    var others = 10
    /// Chances in percent.
    var unfilteredMarks = 30
    var keyed = 40
    var collapsing = 12
    /// Every item has a thread and a summary argument of its own, so that packed pages get large.
    var isWide = false
    /// Categories beside the common ones.
    var moreCategories = 0
    var steps = 1_200
    /// Whether a history reached the cases that this mix is made for.
    var isWorthwhile: @Sendable (Reached) -> Bool

    static let all = [
        TrayMix(testDescription: "plain", isWorthwhile: { $0.sealedPages > 4 && $0.eventPages > 0 }),
        TrayMix(
            testDescription: "many range marks", notify: 90, mark: 12, markAll: 40, unfilteredMarks: 1,
            moreCategories: 60, steps: 1_700, isWorthwhile: { $0.settled > 0 && $0.talliesPages > 0 }),
        TrayMix(
            testDescription: "deep", notify: 85, mark: 8, markAll: 5, unfilteredMarks: 5, steps: 1_800,
            isWorthwhile: { $0.sealedPages > 16 && $0.postponedFiltered > 0 }),
        TrayMix(
            testDescription: "wide pages", edit: 25, keyed: 60, isWide: true, isWorthwhile: { $0.splitPages > 8 }),
        TrayMix(
            testDescription: "many keys", notify: 60, again: 15, keyed: 95, collapsing: 60,
            isWorthwhile: { $0.keyPages > 6 && $0.collapsePages > 0 }),
    ]
}
