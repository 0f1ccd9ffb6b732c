import { setTimeout as sleep } from 'node:timers/promises'
import { type meterBatchRetrieve, meterBatchToWire } from '../../contract/metering/meter-batch.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { receiptOfBatch } from '../../platform/clickhouse/meter-cost/meter-object-reads.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from './cost-dependencies.ts'

const timeoutMs = 5_000
const pollMs = 50

/**
 * Give the receipt of a submission. A batch that was accepted a moment ago is waited for; one that was never given to this caller is
 * known by its check. Source: docs/rules/metering.md #receipts.
 */
export const retrieveBatch = async (
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
  return refused('batch_pending', 'The batch is accepted and not stored yet: ask again in a moment')
}
