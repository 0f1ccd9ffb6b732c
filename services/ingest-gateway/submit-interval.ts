import { meterBatchToWire, type meterIntervalSubmit, readRecords } from '../contract/metering/meter-batch.ts'
import type { AnswerOf, Outcome, RawBody, RequestOf } from '../contract/operation.ts'
import { accepted, type Result } from '../domain/refusal.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { BatchIds } from '../platform/ids/batch-id.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import { validatePlain } from './fast-path/validate-plain.ts'
import type { KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { type ValidatedSubmission, type ValidationContext, validateSubmission } from './validate-submission.ts'

/** What the gateway counts; `bytes` are those of the inflated bodies. */
export type GatewayCounters = {
  /** Records durable in a lane, whether or not their request could be answered. */
  readonly accepted: (partition: number, records: number) => void
  readonly refused: (records: number) => void
  readonly bytes: (bytes: number) => void
}

export type SubmitIntervalDependencies = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly writer: ChunkWriter
  readonly batchIds: BatchIds
  readonly counts: GatewayCounters
}

/**
 * Take a submission of interval records: check each, write the good ones durably, answer with the receipt.
 * Refuses the whole for a body that is no submission. Throws `Failure` where a store is away or the fate of a record is unknown; then
 * nothing is acknowledged and the whole may be sent again.
 * Source: docs/rules/metering.md #submissions, #acknowledgement.
 */
export const submitInterval =
  ({ known, references, writer, batchIds, counts }: SubmitIntervalDependencies) =>
  async (request: RequestOf<typeof meterIntervalSubmit>): Promise<Outcome<AnswerOf<typeof meterIntervalSubmit>>> => {
    const { at, body, apiVersion, caller } = request
    const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const part = { ...tenant, batchId: batchIds.create(tenant, at), receivedAt: at }
    const validated = await validate(body, { part, apiVersion, at, known, references })
    if (!validated.ok) return validated
    const { parts, recordsSubmitted, recordsAccepted, refused } = validated.value
    // Both are waited for, whichever fails: nothing of this submission may still be under way when it is answered.
    const header = { kind: 'submission', ...part, recordsSubmitted, recordsAccepted, refused } as const
    const written = await Promise.allSettled([writer.write(parts), writer.writeHeader(header)])
    for (const one of written) if (one.status === 'rejected') throw one.reason
    counts.refused(refused.length)
    counts.bytes(body.bytes.length)
    const batch = {
      ...tenant,
      id: part.batchId,
      recordsSubmitted,
      recordsAccepted,
      recordsProcessed: 0,
      failed: refused,
      createdAt: at,
    }
    return accepted(meterBatchToWire(batch))
  }

/** Judge a body straight from its bytes where that can be done, else from what it parses to: both say the same. */
export const validate = async (body: RawBody, context: ValidationContext): Promise<Result<ValidatedSubmission>> => {
  const validatedPlain = await validatePlain(body, context)
  if (validatedPlain !== null) return accepted(validatedPlain)
  const parsed = await runInTimeSlices(readRecords(body), context.part.accountId)
  return parsed.ok ? accepted(await validateSubmission(parsed.value, context)) : parsed
}
