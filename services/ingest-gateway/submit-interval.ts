import { meterBatchToWire, type meterIntervalSubmit, readRecords } from '../contract/meter-batch.ts'
import type { AnswerOf, Outcome, RawBody, RequestOf } from '../contract/operation.ts'
import { beginSlices, inSlices } from '../contract/slices.ts'
import { accepted, type Result } from '../domain/refusal.ts'
import type { BatchIds } from '../platform/batch-id.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import { judgePlain } from './judge-plain.ts'
import { type JudgedSubmission, type Judgement, judgeSubmission } from './judge-submission.ts'
import type { KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'

/** What the gateway counts; `bytes` are those of the inflated bodies. */
export type GatewayCounts = {
  /** Records durable in a lane, whether or not their request could be answered. */
  readonly accepted: (lane: number, records: number) => void
  readonly refused: (records: number) => void
  readonly bytes: (bytes: number) => void
}

export type SubmitInterval = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly writer: ChunkWriter
  readonly batchIds: BatchIds
  readonly counts: GatewayCounts
}

/**
 * Take a submission of interval records: check each, write the good ones durably, answer with the receipt.
 * Refuses the whole for a body that is no submission. Throws `Failure` where a store is away or the fate of a record is unknown; then
 * nothing is acknowledged and the whole may be sent again.
 * Source: docs/rules/metering.md #submissions, #acknowledgement.
 */
export const submitInterval =
  ({ known, references, writer, batchIds, counts }: SubmitInterval) =>
  async (request: RequestOf<typeof meterIntervalSubmit>): Promise<Outcome<AnswerOf<typeof meterIntervalSubmit>>> => {
    const { at, body, layout, caller } = request
    const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const part = { ...tenant, batchId: batchIds.mint(tenant, at), receivedAt: at }
    const judged = await judge(body, { part, layout, at, known, references })
    if (!judged.ok) return judged
    const { parts, recordsSubmitted, recordsAccepted, refused } = judged.value
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
export const judge = async (body: RawBody, judgement: Judgement): Promise<Result<JudgedSubmission>> => {
  const plain = await judgePlain(body, judgement)
  if (plain !== null) return accepted(plain)
  const parsed = await inSlices(readRecords(body), beginSlices(judgement.part.accountId))
  return parsed.ok ? accepted(await judgeSubmission(parsed.value, judgement)) : parsed
}
