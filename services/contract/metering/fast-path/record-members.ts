import type { ApiVersion } from '../../api-version.ts'
import { type BytePattern, createBytePattern, matchRest } from './byte-pattern.ts'
import { float64At, type JsonCursor } from './json-cursor.ts'

const currentNames = [
  'location_id',
  'device_id',
  'session_reference_id',
  'record_reference_id',
  'energy_flow_direction',
  'tariff_direction',
  'measurand',
  'units',
  'value',
  'confidence',
  'start_time',
  'end_time',
] as const

/** A member of a record, by its current name. */
export type RecordMemberName = (typeof currentNames)[number]

export type RecordMember = {
  readonly name: RecordMemberName
  readonly bit: number
  readonly written: BytePattern
  /** The member that last followed this one: clients write the members of all records in one order. */
  next: RecordMember | null
}

const earlierNames: Partial<Record<RecordMemberName, string>> = {
  energy_flow_direction: 'direction',
  tariff_direction: 'tariff_rate',
}

const membersOf = (written: (name: RecordMemberName) => string): readonly RecordMember[] =>
  currentNames.map((name, index) => ({
    name,
    bit: 1 << index,
    written: createBytePattern(`"${written(name)}":`),
    next: null,
  }))

/** The members of a record as each layout writes them; no two begin with the same seven characters. */
export const recordMembers: Readonly<Record<ApiVersion, readonly RecordMember[]>> = {
  current: membersOf(name => name),
  earlier: membersOf(name => earlierNames[name] ?? name),
}

/** Step over the name at the cursor and its colon; null for one that is not known, or has space before the colon. `before` is the member before it. */
export const readMemberName = (
  cursor: JsonCursor,
  names: readonly RecordMember[],
  previous: RecordMember | null,
): RecordMember | null => {
  const firstBytes = float64At(cursor, cursor.index)
  const expected = previous === null ? null : previous.next
  const member =
    expected !== null && expected.written.firstBytes === firstBytes ? expected : findMember(names, firstBytes)
  if (member === null || !matchRest(cursor, member.written)) return null
  if (previous !== null) previous.next = member
  return member
}

const findMember = (names: readonly RecordMember[], firstBytes: number): RecordMember | null => {
  for (const member of names) if (member.written.firstBytes === firstBytes) return member
  return null
}
