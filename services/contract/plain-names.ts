import { eightAt, type JsonCursor } from './json-cursor.ts'
import type { Layout } from './layout.ts'
import { takeRest, type WrittenText, writtenText } from './written-text.ts'

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
export type MemberName = (typeof currentNames)[number]

export type Member = {
  readonly name: MemberName
  readonly bit: number
  readonly written: WrittenText
  /** The member that last followed this one: clients write the members of all records in one order. */
  next: Member | null
}

const earlierNames: Partial<Record<MemberName, string>> = { energy_flow_direction: 'direction', tariff_direction: 'tariff_rate' }

const membersOf = (written: (name: MemberName) => string): readonly Member[] =>
  currentNames.map((name, index) => ({ name, bit: 1 << index, written: writtenText(`"${written(name)}":`), next: null }))

/** The members of a record as each layout writes them; no two begin with the same seven characters. */
export const memberNames: Readonly<Record<Layout, readonly Member[]>> = {
  current: membersOf(name => name),
  earlier: membersOf(name => earlierNames[name] ?? name),
}

/** Step over the name at the cursor and its colon; null for one that is not known, or has space before the colon. `before` is the member before it. */
export const takeName = (from: JsonCursor, names: readonly Member[], before: Member | null): Member | null => {
  const first = eightAt(from, from.at)
  const expected = before === null ? null : before.next
  const member = expected !== null && expected.written.first === first ? expected : find(names, first)
  if (member === null || !takeRest(from, member.written)) return null
  if (before !== null) before.next = member
  return member
}

const find = (names: readonly Member[], first: number): Member | null => {
  for (const member of names) if (member.written.first === first) return member
  return null
}
