import { generateValue } from '../../support/ledger/generate-submission.ts'
import type { LedgerRecord } from '../../support/ledger/journal.ts'
import { monthStart } from '../../support/oracle/local-clock.ts'
import { zoneOf } from '../../support/oracle/zone.ts'
import type { Random } from '../../support/random.ts'
import type { CreatedLocation } from './create-fixture.ts'
import { year } from './plan-tariffs.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Maximum length of a record. */
export const maxLengthMs = 40 * dayMs

/** Return the instants at which prices change: starts of months, clock changes, starts and ends of contracts. */
const instantsOf = ({ planned, tariffs }: CreatedLocation): readonly number[] => {
  const months = Array.from({ length: 12 }, (_, month) => monthStart(planned.zone, Date.UTC(2025, month, 15)))
  const contracts = tariffs.flatMap(({ contractStart, contractEnd }) => [contractStart, contractEnd])
  return [...months, ...zoneOf(planned.zone).changes, ...contracts].filter(
    at => at !== null && year.start < at && at < year.end,
  ) as number[]
}

/** Days around a clock change that have many records, so that actuals cover estimates. */
const crowdedInterval = { start: Date.UTC(2025, 2, 20), end: Date.UTC(2025, 3, 10) }

/**
 * Return a random start on a grid, so that many records start together. Some starts are within hours of a price change.
 */
const startOf = (random: Random, instants: readonly number[], { start, end }: typeof year): number => {
  const grid = random.pick([15 * minuteMs, 15 * minuteMs, hourMs, minuteMs, 1_000, 1])
  const anywhere = start + random.below(end - start)
  const near = random.pick(instants) + random.below(6 * hourMs) - 4 * hourMs
  return Math.floor((random.chance(0.15) ? near : anywhere) / grid) * grid
}

const lengthOf = (random: Random): number =>
  random.chance(0.004)
    ? dayMs + random.below(maxLengthMs - dayMs)
    : random.pick([
        15 * minuteMs,
        15 * minuteMs,
        15 * minuteMs,
        hourMs,
        hourMs,
        7 * hourMs + 1,
        26 * hourMs,
        1_000 + random.below(3 * hourMs),
      ])

type Flow = Required<Pick<LedgerRecord, 'energyFlowDirection' | 'tariffDirection'>>

const flowOf = (random: Random, { tariffs }: CreatedLocation): Flow | null => {
  if (random.chance(0.75)) return null
  const isSelling = tariffs.some(({ direction }) => direction === 'EXPORT')
  // Without an EXPORT tariff, a few records have no price.
  const flow =
    isSelling || random.chance(0.1) ? random.pick(['sold', 'own', 'supplied']) : random.pick(['own', 'supplied'])
  if (flow === 'sold') return { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' }
  if (flow === 'own') return { energyFlowDirection: 'INBOUND', tariffDirection: 'LOCAL' }
  return { energyFlowDirection: 'OUTBOUND', tariffDirection: 'IMPORT' }
}

/** Return the record as an estimate or as an actual, by chance. */
export const estimate = (random: Random, record: LedgerRecord): LedgerRecord => {
  const { confidence: _, ...actual } = record
  return random.chance(0.5) ? { ...actual, confidence: random.pick(['0.5', '0.9', '0.123457']) } : actual
}

/** Return a generator of random records of a location. `estimates` allows estimates. */
export const recordGenerator = (
  location: CreatedLocation,
  estimates: boolean,
): ((random: Random, reference: string) => LedgerRecord) => {
  const instants = instantsOf(location)
  const objects = [null, ...location.deviceIds]
  const hasEstimates = estimates && location.planned.hasEstimates
  return (random, reference) => {
    const units = random.pick(['W', 'KW', 'WH', 'KWH'])
    const start = startOf(random, instants, hasEstimates && random.chance(0.6) ? crowdedInterval : year)
    const isImpulse = units.endsWith('WH') && random.chance(0.05)
    const record = {
      locationId: location.locationId,
      deviceId: random.pick(objects),
      start,
      end: isImpulse ? start : start + lengthOf(random),
      units,
      value: generateValue(random, units),
      sessionReferenceId: random.chance(0.2) ? `session-${random.below(40)}` : null,
      recordReferenceId: reference,
      isValid: true,
      ...flowOf(random, location),
    }
    return hasEstimates ? estimate(random, record) : record
  }
}
