import { spoil, vary } from '../../support/ledger/invent.ts'
import type { LedgerRecord } from '../../support/ledger/journal.ts'
import type { Random } from '../../support/ledger/random.ts'
import { estimate, inventorOf } from './invent-records.ts'
import type { World } from './place-world.ts'
import { type Change, planChanges } from './plan-changes.ts'
import { planReadings, type ReadingSubmission } from './plan-readings.ts'

/** `after` is the step that must be known to be done before; null: none. */
type InOrder = { readonly after: Step | null }
type Sent = { readonly copies: number; readonly isAwaited: boolean }

/** One in so many submissions is awaited. */
const awaitedShare = 0.1

/**
 * A submission of records or readings, sent so many times at once, or what changes tariffs or prices. `isAwaited`: the sender waits until
 * the submission is processed, so that it is costed apart from what the sender sends next.
 */
export type Step =
  | (InOrder & Sent & { readonly kind: 'submission'; readonly records: readonly LedgerRecord[] })
  | (InOrder & Sent & { readonly kind: 'readings'; readonly submission: ReadingSubmission })
  | (InOrder & { readonly kind: 'change'; readonly change: Change })

export type StepOptions = {
  readonly records: number
  readonly hasRepricing: boolean
  readonly hasEstimates: boolean
  readonly hasRegisters: boolean
}

type Submission = Extract<Step, { kind: 'submission' }>

const sizeOf = (random: Random): number =>
  random.chance(0.01) ? 1_000 + random.whole(1_000) : 1 + random.whole(random.pick([1, 20, 200, 300]))

/** Each change behind the one before it of the same object. */
const inOrder = (changes: readonly Change[]): readonly Step[] => {
  const last = new Map<string, Step>()
  return changes.map(change => {
    const step = { kind: 'change', change, after: last.get(change.of) ?? null } as const
    last.set(change.of, step)
    return step
  })
}

/** Each submission of readings behind the one whose times it brings again. */
const readingSteps = (random: Random, world: World, records: number): readonly Step[] =>
  planReadings(random, world, records).flatMap(family => {
    const steps: Step[] = []
    for (const submission of family) {
      const sent = { copies: random.pick([1, 1, 1, 2, 3]), isAwaited: random.chance(awaitedShare) }
      steps.push({ kind: 'readings', submission, ...sent, after: steps.at(-1) ?? null })
    }
    return steps
  })

/** Mix the fewer steps among the more at even distances. */
const mixed = (more: readonly Step[], fewer: readonly Step[]): readonly Step[] => {
  const queue = [...fewer]
  return more.flatMap((step, index) => {
    const due = Math.floor(((index + 1) * fewer.length) / more.length) - Math.floor((index * fewer.length) / more.length)
    return [step, ...queue.splice(0, due)]
  })
}

/**
 * Plan all that is sent: submissions of random records in no order of time, some of them again or corrected later on, some of one
 * location and some of many, with changes of tariffs and prices among them.
 */
export const planSteps = (random: Random, world: World, options: StepOptions): readonly Step[] => {
  const inventors = world.locations.map(location => inventorOf(location, options.hasEstimates))
  const estimating = new Set(
    world.locations.filter(({ planned }) => options.hasEstimates && planned.hasEstimates).map(one => one.locationId),
  )
  const submissions: Submission[] = []
  const latest: Submission[] = []
  const firsts: Submission[] = []

  const inventSubmission = (count: number): Submission => {
    const only = random.chance(0.5) ? random.pick(inventors) : null
    const records: LedgerRecord[] = []
    for (let index = 0; index < count; index += 1) {
      const record = (only ?? random.pick(inventors))(random, `${submissions.length}-${index}`)
      records.push(spoil(random, record, records.at(-1)))
    }
    return { kind: 'submission', after: null, records, copies: random.pick([1, 1, 1, 2, 3]), isAwaited: random.chance(awaitedShare) }
  }

  /** What came last of an earlier submission, once more: as it was, as it came first, or with other values and confidences. */
  const sendAgain = (place: number): Submission => {
    const after = latest[place] as Submission
    const varied = vary(random, after.records)
    const records = varied.map(record => (estimating.has(record.locationId) && random.chance(0.3) ? estimate(random, record) : record))
    const first = (firsts[place] as Submission).records
    const sent = { copies: random.pick([1, 1, 2]), isAwaited: random.chance(awaitedShare) }
    return { kind: 'submission', after, records: random.pick([after.records, after.records, first, records, records]), ...sent }
  }

  const most = Math.max(20, Math.floor(options.records / 40))
  for (let records = 0; records < options.records; ) {
    const place = latest.length > 8 && random.chance(0.15) ? random.whole(latest.length) : null
    const next = place === null ? inventSubmission(Math.min(sizeOf(random), most, options.records - records)) : sendAgain(place)
    submissions.push(next)
    if (place === null) {
      latest.push(next)
      firsts.push(next)
      records += next.records.length
    } else latest[place] = next
  }
  const changes = inOrder(planChanges(random, world, options.hasRepricing))
  return mixed(mixed(submissions, changes), options.hasRegisters ? readingSteps(random, world, options.records) : [])
}
