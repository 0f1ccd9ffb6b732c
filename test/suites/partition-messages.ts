import fc from 'fast-check'
import { type RecordText, recordTexts } from '../../services/contract/metering/record-fields.ts'
import type { MeterMessage } from '../../services/platform/log/messages.ts'
import type { AcceptedRecord, RecordChunk, RecordPart } from '../../services/record-bytes/accepted-record.ts'

const digits = fc.uint8Array({ minLength: 12, maxLength: 12 }).map(bytes => Buffer.from(bytes).toString('hex'))
const id = (prefix: string): fc.Arbitrary<string> => digits.map(text => prefix + text)
const text = fc.string({ unit: 'grapheme', maxLength: 255 })
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null })
const instant = fc.integer({ min: 946_684_800_000, max: 4_102_444_800_000 })
const energy = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 17n }),
  fc.bigInt({ min: 2n ** 52n - 3n, max: 2n ** 54n }),
  fc.nat().map(BigInt),
)

/** Return the same value for each optional text of a record. */
export const textsOf = <T>(value: T): Readonly<Record<RecordText, T>> =>
  Object.fromEntries(recordTexts.map(name => [name, value])) as Record<RecordText, T>

const record = (locations: readonly string[], devices: readonly string[]): fc.Arbitrary<AcceptedRecord> =>
  fc
    .record({
      locationId: fc.constantFrom(...locations),
      deviceId: fc.constantFrom(...devices, null),
      energyFlowDirection: fc.constantFrom('INBOUND', 'OUTBOUND'),
      tariffDirection: fc.constantFrom('IMPORT', 'EXPORT', 'LOCAL'),
      start: instant,
      end: fc.integer({ min: 0, max: 366 * 86_400_000 }),
      energy,
      confidence: fc.integer({ min: 1, max: 1_000_000 }),
      ...textsOf(optional(text)),
      recordNumber: fc.integer({ min: 1, max: 10_000 }),
      recordId: digits,
    })
    .map(made => ({ ...made, end: made.start + made.end }) as AcceptedRecord)

const ids = (prefix: string): fc.Arbitrary<string[]> => fc.uniqueArray(id(prefix), { minLength: 1, maxLength: 3 })
const part: fc.Arbitrary<RecordPart> = fc.tuple(ids('loc_'), ids('dev_')).chain(([locations, devices]) =>
  fc.record({
    accountId: id('acc_'),
    liveMode: fc.boolean(),
    batchId: optional(id('bat_')),
    receivedAt: instant,
    records: fc.array(record(locations, devices), { maxLength: 5 }),
  }),
)
/** Any chunks of records. */
export const chunk: fc.Arbitrary<RecordChunk> = fc.record({
  kind: fc.constant('records' as const),
  parts: fc.array(part, { maxLength: 3 }),
})

const reading = fc.record({
  time: instant,
  isRestart: fc.boolean(),
  value: optional(fc.bigInt({ min: 0n, max: 10n ** 18n })),
  recordReferenceId: optional(text),
  recordNumber: fc.nat(10_000),
  recordId: digits,
})
/** Submissions, recost requests and register readings. */
export const otherMessage: fc.Arbitrary<MeterMessage> = fc.oneof(
  fc.record({
    kind: fc.constant('submission' as const),
    accountId: id('acc_'),
    liveMode: fc.boolean(),
    batchId: id('bat_'),
    receivedAt: instant,
    recordsSubmitted: fc.nat(10_000),
    recordsAccepted: fc.nat(10_000),
    refused: fc.array(fc.record({ recordNumber: fc.nat(10_000), recordReferenceId: optional(text), error: text })),
  }),
  fc.record({
    kind: fc.constant('order' as const),
    orderId: text,
    orderKind: fc.constantFrom('RE_PRICE' as const, 'TIER' as const, 'ERASE' as const),
    accountId: optional(id('acc_')),
    liveMode: fc.boolean(),
    locationIds: fc.array(id('loc_'), { maxLength: 3 }),
    locationRevision: optional(fc.nat()),
    sourceId: optional(id('mrs_')),
    priceRevision: optional(fc.nat()),
    from: optional(instant),
    to: optional(instant),
    objectId: optional(id('dev_')),
    detail: text,
  }),
  fc.record({
    kind: fc.constant('readings' as const),
    parts: fc.array(
      fc.record({
        accountId: id('acc_'),
        liveMode: fc.boolean(),
        batchId: optional(id('bat_')),
        receivedAt: instant,
        locationId: id('loc_'),
        deviceId: optional(id('dev_')),
        energyFlowDirection: fc.constantFrom('INBOUND' as const, 'OUTBOUND' as const),
        tariffDirection: fc.constantFrom('IMPORT' as const, 'EXPORT' as const, 'LOCAL' as const),
        sessionReferenceId: optional(text),
        register: optional(
          fc.record({
            kind: fc.constantFrom('LIFETIME' as const, 'SESSION' as const),
            digits: optional(fc.integer({ min: 1, max: 9 })),
            maxPower: optional(fc.bigInt({ min: 1n, max: 10n ** 17n })),
          }),
        ),
        readings: fc.array(reading, { maxLength: 3 }),
      }),
      { maxLength: 2 },
    ),
  }),
)
