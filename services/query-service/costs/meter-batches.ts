import { setTimeout as sleep } from 'node:timers/promises'
import { meterBatchRead, meterBatchRetrieve, meterBatchToWire } from '../../contract/metering/meter-batch.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { receiptOfBatch } from '../../platform/clickhouse/meter-cost/meter-object-reads.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from '../dependencies.ts'

const timeoutMs = 5_000
const pollMs = 50

/**
 * Answer the receipt of a submission. Waits up to 5 s for the receipt of a batch that was accepted recently. The check
 * digits of the id show whether the batch belongs to the caller.
 * Source: docs/rules/metering.md #receipts.
 */
const retrieveBatch = async (
  { clickHouse, batchIds }: CostDependencies,
  request: Pick<RequestOf<typeof meterBatchRetrieve>, 'caller' | 'signal'>,
  id: string,
): Promise<Outcome<AnswerOf<typeof meterBatchRetrieve>>> => {
  const tenant = tenantOf(request)
  if (batchIds.createdAt(tenant, id) === null)
    return refused('batch_not_found', 'No batch has this batch_id', 'batch_id')
  const deadline = performance.now() + timeoutMs
  while (!request.signal.aborted) {
    const receipt = await receiptOfBatch(clickHouse, tenant, id)
    if (receipt !== null) {
      const { receivedAt: createdAt, failures: failed, ...counts } = receipt
      return accepted(meterBatchToWire({ ...tenant, id, ...counts, failed, createdAt }))
    }
    if (performance.now() >= deadline) break
    await sleep(pollMs)
  }
  return refused('batch_pending', 'The batch is accepted but not stored yet. Send the request again in a moment')
}

/** Bind the operations on receipts. */
export const meterBatchOperations = (dependencies: CostDependencies): readonly Binding[] => [
  bind(meterBatchRetrieve, request => retrieveBatch(dependencies, request, request.query.batch_id)),
  bind(meterBatchRead, request => retrieveBatch(dependencies, request, request.id)),
]
