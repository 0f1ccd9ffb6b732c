import type { RegisterRule } from '../domain/record/reading-rules.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import {
  isActual,
  isImplausible,
  maxWarnedNumbers,
  overlappingRecords,
  type SubmissionWarning,
  type WarningCode,
} from '../domain/record/warnings.ts'

/** Record of a body. `energy` is in 1e-6 Wh. */
type AcceptedRecord = Pick<MeterRecord, 'start' | 'end' | 'confidence' | 'energyFlowDirection' | 'tariffDirection'> & {
  readonly energy: bigint | number
}

/** Collects the warnings about the accepted records of a submission. */
export type RecordWarnings<Session> = {
  readonly add: (
    rule: RegisterRule | null,
    record: AcceptedRecord,
    locationId: string,
    deviceId: string | null,
    session: Session,
    recordNumber: number,
  ) => void
  /** Return the warnings after the last record. */
  readonly list: () => readonly SubmissionWarning[]
}

const warningOf = (code: WarningCode, numbers: readonly number[]): readonly SubmissionWarning[] =>
  numbers.length === 0 ? [] : [{ code, records: numbers.length, recordNumbers: numbers.slice(0, maxWarnedNumbers) }]

/** Actuals of a submission by their index. Lists of numbers take less time than an object for each record. */
const createActuals = <Session>(maxRecords: number) => ({
  starts: new Float64Array(maxRecords),
  ends: new Float64Array(maxRecords),
  locationIds: [] as string[],
  deviceIds: [] as (string | null)[],
  flows: [] as string[],
  directions: [] as string[],
  sessions: [] as Session[],
  recordNumbers: [] as number[],
})

type Actuals<Session> = ReturnType<typeof createActuals<Session>>

/** Return the numbers of overlapping records. Most objects have no overlap in any series, which is found first. */
const overlappingNumbers = <Session>(
  { starts, ends, locationIds, deviceIds, flows, directions, sessions, recordNumbers }: Actuals<Session>,
  textOf: (session: Session) => string | null,
): readonly number[] => {
  const seriesOf = (i: number): string => {
    const session = textOf(sessions[i] as Session)
    return `${locationIds[i]} ${flows[i]} ${directions[i]}${session === null ? '' : ` ${session}`}`
  }
  const actuals = recordNumbers.map((recordNumber, i) => ({
    recordNumber,
    i,
    start: starts[i] as number,
    end: ends[i] as number,
  }))
  const found: number[] = []
  for (const own of Map.groupBy(actuals, ({ i }) => deviceIds[i] ?? locationIds[i]).values()) {
    if (own.length < 2 || overlappingRecords(own).length === 0) continue
    for (const series of Map.groupBy(own, ({ i }) => seriesOf(i)).values())
      for (const { recordNumber } of overlappingRecords(series)) found.push(recordNumber)
  }
  return found.sort((a, b) => a - b)
}

/**
 * Create a collector. Overlaps are those within the submission: the gateway does not know the stored records. `textOf`
 * reads the text of a session, if it is needed.
 * Source: docs/rules/metering.md #warnings.
 */
export const recordWarnings = <Session>(
  maxRecords: number,
  textOf: (session: Session) => string | null,
): RecordWarnings<Session> => {
  const implausible: number[] = []
  const actuals = createActuals<Session>(maxRecords)
  const { starts, ends, locationIds, deviceIds, flows, directions, sessions, recordNumbers } = actuals
  let [count, length] = [0, 0]
  let hasSeveralLengths = false
  return {
    add: (rule, record, locationId, deviceId, session, recordNumber) => {
      if (isImplausible(rule, record)) implausible.push(recordNumber)
      if (!isActual(record)) return
      const { start, end } = record
      if (count === 0) length = end - start
      else if (end - start !== length) hasSeveralLengths = true
      starts[count] = start
      ends[count] = end
      locationIds.push(locationId)
      deviceIds.push(deviceId)
      flows.push(record.energyFlowDirection)
      directions.push(record.tariffDirection)
      sessions.push(session)
      recordNumbers.push(recordNumber)
      count += 1
    },
    list: () => [
      ...warningOf('implausible_energy', implausible),
      ...warningOf('overlapping_records', hasSeveralLengths ? overlappingNumbers(actuals, textOf) : []),
    ],
  }
}
