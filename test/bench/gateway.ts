import type { meterIntervalSubmit } from '../../services/contract/metering/meter-batch.ts'
import type { RequestOf } from '../../services/contract/operation.ts'
import { noReferenceIds } from '../../services/domain/reference.ts'
import { chunkWriter } from '../../services/ingest-gateway/chunk-writer.ts'
import { knownObjects } from '../../services/ingest-gateway/known-objects.ts'
import { knownReferences } from '../../services/ingest-gateway/known-references.ts'
import { recordEntrance } from '../../services/ingest-gateway/record-entrance.ts'
import { submitInterval, validateSubmission } from '../../services/ingest-gateway/submit-interval.ts'
import { validatePlain } from '../../services/ingest-gateway/validate-plain.ts'
import type { ValidationContext } from '../../services/ingest-gateway/validate-records.ts'
import { batchIds } from '../../services/platform/ids/batch-id.ts'
import { openCodec } from '../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../services/platform/log/avro/schema-ids.ts'
import { partitionKey, partitionOf } from '../../services/platform/log/partition.ts'
import { ordinaryBody } from '../support/metering/meter-body.ts'
import { parseSubmission } from '../support/metering/parse-submission.ts'
import { medianOf } from './statistics.ts'

/** Time of the gateway and of `JSON.parse` for the same body, in ns per record. The goal of `ratio` is at most 3.0. */
export type GatewayFigures = {
  readonly bodyBytes: number
  readonly parseNs: number
  readonly gatewayNs: number
  readonly ratio: number
}

const records = 500
const at = Date.UTC(2026, 2, 1)
const caller = {
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: true,
  keyId: 'key_0198c0ffee00112233445566',
  scope: 'metering',
  defaultApiVersion: 'current',
} as const

const partitions = 8
const { signal } = new AbortController()

/** Cache in which all objects exist. */
const allKnown = () =>
  knownObjects(
    async (_, ids) => new Map([...ids.locations, ...ids.devices].map(id => [id, null])),
    (accountId, locationId) => partitionOf(partitionKey(accountId, locationId), partitions),
  )

/** Create a gateway without log and PostgreSQL: each append succeeds immediately, and all objects are known. */
const gateway = async () => {
  const known = allKnown()
  const codec = await openCodec(localSchemaIds())
  const log = { partitions: () => partitions, append: async () => 0, lingerMs: 0 }
  const none = () => undefined
  const counts = { accepted: none, refused: none, bytes: none, warned: none }
  const writer = chunkWriter({ log, codec, generation: () => 0, accepts: () => true, onAppended: counts.accepted })
  const entrance = recordEntrance({
    writer,
    readings: { write: async () => undefined },
    batchIds: batchIds('a secret of the installation'),
    counts,
  })
  const submit = submitInterval({
    known,
    references: knownReferences(async () => noReferenceIds),
    entrance,
    counts,
    validateCsv: null,
  })
  return async (bytes: Uint8Array): Promise<void> => {
    const body = { bytes, mediaType: 'application/json' }
    const request = { caller, at, apiVersion: 'current', body, signal }
    const outcome = await submit(request as RequestOf<typeof meterIntervalSubmit>)
    if (!outcome.ok || outcome.value?.records_accepted !== records) throw new Error('Every record must be accepted.')
  }
}

/** Measure both in turns, body by body, after a warm-up. The figures are medians. Promise P3. */
export const measureGateway = async (turns = 400): Promise<GatewayFigures> => {
  const bodies = Array.from({ length: 20 }, (_, round) => Buffer.from(ordinaryBody({ records, at, round })))
  const submit = await gateway()
  const parses: number[] = []
  const submissions: number[] = []
  for (let turn = -100; turn < turns; turn += 1) {
    const bytes = bodies[Math.abs(turn) % bodies.length] ?? Buffer.alloc(0)
    const started = process.hrtime.bigint()
    JSON.parse(bytes.toString())
    const parsed = process.hrtime.bigint()
    await submit(bytes)
    if (turn < 0) continue
    parses.push(Number(parsed - started) / records)
    submissions.push(Number(process.hrtime.bigint() - parsed) / records)
  }
  const [parseNs, gatewayNs] = [medianOf(parses), medianOf(submissions)]
  return { bodyBytes: bodies[0]?.length ?? 0, parseNs, gatewayNs, ratio: gatewayNs / parseNs }
}

/** Time to validate a submission from its bytes and from its parsed elements, in ns per record. */
type ValidationFigures = { readonly bytesNs: number; readonly parsedNs: number; readonly gain: number }

/** Measure both ways to validate a body, in turns. */
const measureValidation = async (turns = 200): Promise<ValidationFigures> => {
  const context: ValidationContext = {
    part: { accountId: caller.accountId, liveMode: true, batchId: 'bat_0198c0ffee00112233445566', receivedAt: at },
    apiVersion: 'current',
    at,
    known: allKnown(),
    references: knownReferences(async () => noReferenceIds),
  }
  const times: { readonly bytes: number[]; readonly parsed: number[] } = { bytes: [], parsed: [] }
  const bodies = Array.from({ length: 20 }, (_, round) => Buffer.from(ordinaryBody({ records, at, round })))
  for (let turn = -100; turn < turns; turn += 1) {
    const body = { bytes: bodies[Math.abs(turn) % bodies.length] ?? Buffer.alloc(0), mediaType: 'application/json' }
    const started = process.hrtime.bigint()
    const plain = await validatePlain(body, context)
    const validated = process.hrtime.bigint()
    const parsed = await parseSubmission(body)
    if (parsed.ok) await validateSubmission(parsed.value, context)
    const ended = process.hrtime.bigint()
    if (plain?.recordsAccepted !== records || !parsed.ok) throw new Error('Every record must be accepted.')
    if (turn < 0) continue
    times.bytes.push(Number(validated - started) / records)
    times.parsed.push(Number(ended - validated) / records)
  }
  const [bytesNs, parsedNs] = [medianOf(times.bytes), medianOf(times.parsed)]
  return { bytesNs, parsedNs, gain: parsedNs / bytesNs }
}

if (import.meta.main) {
  const figures = { ...(await measureGateway()), validation: await measureValidation() }
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
}
