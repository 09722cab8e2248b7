import Testing
import TraylogDomain

@testable import TraylogCodec

@Suite struct FieldNumberTests {
    /// The reader works with constants; this is where they are held against the enum.
    @Test func fieldSetsByWireTypeCoverTheFields() {
        func set(_ matches: (FieldNumber) -> Bool) -> FieldSet {
            FieldNumber.allCases.filter(matches).reduce(into: FieldSet(rawValue: 0)) { set, field in
                set.insert(FieldSet(rawValue: 1 << UInt64(field.rawValue)))
            }
        }
        #expect(FieldSet.texts == set { $0.wireType == .bytes })
        #expect(FieldSet.varints == set { $0.wireType == .varint })
        #expect(FieldSet.fixed64s == set { $0.wireType == .fixed64 })
        #expect(FieldSet.repeated == set { $0 == .items || $0 == .cleared })
    }

    @Test func everyClearableFieldHasItsNumber() throws {
        for (field, number) in ContentFields.numbered where field != .notBefore {
            #expect(try ContentFields(cleared: UInt64(number.rawValue)) == field)
        }
        #expect(throws: PayloadFault.self) { try ContentFields(cleared: UInt64(FieldNumber.notBefore.rawValue)) }
    }

    @Test func storedEnumsReadBack() throws {
        for mark in Mark.allCases { #expect(try Mark(stored: mark.stored) == mark) }
        for mark in BulkMark.allCases { #expect(try BulkMark(stored: mark.stored) == mark) }
        for level in InterruptionLevel.allCases {
            #expect(try InterruptionLevel(stored: level.stored) == level)
        }
        #expect(try InterruptionLevel(stored: 0) == nil)
    }
}
