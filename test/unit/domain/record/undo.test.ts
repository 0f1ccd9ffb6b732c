import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decideUndo, type Replacement } from '../../../../services/domain/record/undo.ts'

/** Imports `a`, `b` and `c`, a submission that is none, and a record that came alone. */
type Sender = 'a' | 'b' | 'c' | 'other' | null

type Event =
  | { readonly kind: 'write'; readonly sender: Sender; readonly value: number }
  /** `meanwhile` is written between the decision of the undo and its submission. */
  | { readonly kind: 'undo'; readonly id: 'a' | 'b' | 'c'; readonly meanwhile: number | null }

type Stored = { readonly value: number | null; readonly sender: Sender }

/** A record that keeps its last write, and what submissions of imports and undos replaced. */
const emptyRecord = () => {
  const replaced: {
    readonly order: bigint
    readonly sender: Sender
    readonly before: Stored
  }[] = []
  const undone = new Set<Sender>()
  const senders = new Set<Sender>()
  let stored: Stored | null = null
  let writes = 0n
  const write = (sender: Sender, value: number | null): void => {
    writes += 1n
    senders.add(sender)
    const isImport = sender !== null && sender !== 'other'
    if (isImport && stored !== null) replaced.push({ order: writes, sender, before: stored })
    stored = { value, sender }
  }
  const replacementsFor = (id: Sender): readonly Replacement<number | null>[] =>
    replaced
      .filter(({ sender }) => undone.has(sender))
      .map(({ order, sender, before }) => ({
        order,
        state: before.value,
        isFromOther: !undone.has(before.sender),
        isOfImport: sender === id || before.sender === id,
      }))
  const undo = (id: 'a' | 'b' | 'c', meanwhile: number | null): void => {
    undone.add(id)
    if (stored === null) return
    const { sender } = stored
    const lastSender = sender === id ? 'import' : undone.has(sender) ? 'undone' : 'other'
    const all = replacementsFor(id)
    const step = decideUndo(lastSender, all)
    if (!senders.has(id)) expect(step).toEqual({ kind: 'leave' })
    // Of replacements with equal flags, the newest is enough.
    const newest = Map.groupBy(all, ({ isFromOther, isOfImport }) => `${isFromOther} ${isOfImport}`)
    expect(
      decideUndo(
        lastSender,
        [...newest.values()].flatMap(own => own.slice(-1)),
      ),
    ).toEqual(step)
    if (meanwhile !== null) write('other', meanwhile)
    if (step.kind === 'set') write(id, step.state)
    if (step.kind === 'withdraw') write(id, null)
  }
  return { write, undo, undone, value: (): number | null => stored?.value ?? null }
}

const value = fc.integer({ min: 0, max: 3 })
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('write'), sender: fc.constantFrom('a', 'b', 'c', 'other', null), value }),
  fc.record({
    kind: fc.constant('undo'),
    id: fc.constantFrom('a', 'b', 'c'),
    meanwhile: fc.option(value, { freq: 4 }),
  }),
)

it('a record is as if the undone imports had sent nothing, in any order of the undos', () => {
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 14 }),
      fc.shuffledSubarray(['a', 'b', 'c'] as const),
      (events, last) => {
        const record = emptyRecord()
        const sent: { readonly sender: Sender; readonly value: number }[] = []
        for (const event of events) {
          if (event.kind === 'write') {
            record.write(event.sender, event.value)
            sent.push(event)
          } else {
            const { id, meanwhile } = event
            const hasRecord = sent.length > 0
            record.undo(id, meanwhile)
            if (hasRecord && meanwhile !== null) sent.push({ sender: 'other', value: meanwhile })
          }
        }
        // Each undo ends, or is repeated, after the last write.
        const order = [...last, ...[...record.undone].filter(id => !last.some(one => one === id))]
        for (const id of order) if (id === 'a' || id === 'b' || id === 'c') record.undo(id, null)
        const expected = sent.findLast(({ sender }) => !record.undone.has(sender))?.value ?? null
        expect(record.value()).toBe(expected)
        for (const id of order) if (id === 'a' || id === 'b' || id === 'c') record.undo(id, null)
        expect(record.value()).toBe(expected)
      },
    ),
    { numRuns: 10_000 },
  )
})
