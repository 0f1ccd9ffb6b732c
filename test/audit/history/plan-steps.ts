import { correctRecords, corruptRecord } from '../../support/ledger/generate-submission.ts'
import type { LedgerRecord } from '../../support/ledger/journal.ts'
import type { Random } from '../../support/random.ts'
import type { AuditFixture } from './create-fixture.ts'
import { estimate, recordGenerator } from './generate-records.ts'
import { type Change, planChanges } from './plan-changes.ts'
import { planReadings, type ReadingSubmission } from './plan-readings.ts'

/** `after` is the step that must be done first, or null. */
type OrderedStep = { readonly after: Step | null }
type SendOptions = { readonly copies: number; readonly isAwaited: boolean }

/** Share of submissions whose processing is awaited. */
const awaitedShare = 0.1

/**
 * Submission of records or readings that is sent `copies` times concurrently, or a change of tariffs or prices.
 * If `isAwaited`, the sender waits until the submission is processed, so that the next submission is costed separately.
 */
export type Step =
  | (OrderedStep & SendOptions & { readonly kind: 'submission'; readonly records: readonly LedgerRecord[] })
  | (OrderedStep & SendOptions & { readonly kind: 'readings'; readonly submission: ReadingSubmission })
  | (OrderedStep & { readonly kind: 'change'; readonly change: Change })

export type StepOptions = {
  readonly records: number
  readonly hasRepricing: boolean
  readonly hasEstimates: boolean
  readonly hasRegisters: boolean
}

type Submission = Extract<Step, { kind: 'submission' }>

const sizeOf = (random: Random): number =>
  random.chance(0.01) ? 1_000 + random.below(1_000) : 1 + random.below(random.pick([1, 20, 200, 300]))

/** Return a step for each change. It follows the previous change of the same object. */
const inOrder = (changes: readonly Change[]): readonly Step[] => {
  const last = new Map<string, Step>()
  return changes.map(change => {
    const step = { kind: 'change', change, after: last.get(change.objectId) ?? null } as const
    last.set(change.objectId, step)
    return step
  })
}

/** Return a step for each submission of readings. It follows the submission that it corrects. */
const readingSteps = (random: Random, fixture: AuditFixture, records: number): readonly Step[] =>
  planReadings(random, fixture, records).flatMap(family => {
    const steps: Step[] = []
    for (const submission of family) {
      const sent = { copies: random.pick([1, 1, 1, 2, 3]), isAwaited: random.chance(awaitedShare) }
      steps.push({ kind: 'readings', submission, ...sent, after: steps.at(-1) ?? null })
    }
    return steps
  })

/** Insert the steps of the shorter list into the longer list at equal distances. */
const interleave = (more: readonly Step[], fewer: readonly Step[]): readonly Step[] => {
  const queue = [...fewer]
  return more.flatMap((step, index) => {
    const due =
      Math.floor(((index + 1) * fewer.length) / more.length) - Math.floor((index * fewer.length) / more.length)
    return [step, ...queue.splice(0, due)]
  })
}

/**
 * Plan all steps of a history: submissions of random records in random order, with repeats and corrections. A
 * submission has records of one or of many locations. Changes of tariffs and prices are in between.
 */
export const planSteps = (random: Random, fixture: AuditFixture, options: StepOptions): readonly Step[] => {
  const generators = fixture.locations.map(location => recordGenerator(location, options.hasEstimates))
  const locationsWithEstimates = new Set(
    fixture.locations.filter(({ planned }) => options.hasEstimates && planned.hasEstimates).map(one => one.locationId),
  )
  const submissions: Submission[] = []
  const latest: Submission[] = []
  const firsts: Submission[] = []

  const generateSubmission = (count: number): Submission => {
    const only = random.chance(0.5) ? random.pick(generators) : null
    const records: LedgerRecord[] = []
    for (let index = 0; index < count; index += 1) {
      const record = (only ?? random.pick(generators))(random, `${submissions.length}-${index}`)
      records.push(corruptRecord(random, record, records.at(-1)))
    }
    const sent = { copies: random.pick([1, 1, 1, 2, 3]), isAwaited: random.chance(awaitedShare) }
    return { kind: 'submission', after: null, records, ...sent }
  }

  /** Repeat an earlier submission: its last version, its first version, or new values and confidences. */
  const sendAgain = (latestIndex: number): Submission => {
    const after = latest[latestIndex] as Submission
    const varied = correctRecords(random, after.records)
    const records = varied.map(record =>
      locationsWithEstimates.has(record.locationId) && random.chance(0.3) ? estimate(random, record) : record,
    )
    const first = (firsts[latestIndex] as Submission).records
    const sent = { copies: random.pick([1, 1, 2]), isAwaited: random.chance(awaitedShare) }
    return {
      kind: 'submission',
      after,
      records: random.pick([after.records, after.records, first, records, records]),
      ...sent,
    }
  }

  const maxRecords = Math.max(20, Math.floor(options.records / 40))
  for (let records = 0; records < options.records; ) {
    const latestIndex = latest.length > 8 && random.chance(0.15) ? random.below(latest.length) : null
    const next =
      latestIndex === null
        ? generateSubmission(Math.min(sizeOf(random), maxRecords, options.records - records))
        : sendAgain(latestIndex)
    submissions.push(next)
    if (latestIndex === null) {
      latest.push(next)
      firsts.push(next)
      records += next.records.length
    } else latest[latestIndex] = next
  }
  const changes = inOrder(planChanges(random, fixture, options.hasRepricing))
  return interleave(
    interleave(submissions, changes),
    options.hasRegisters ? readingSteps(random, fixture, options.records) : [],
  )
}
