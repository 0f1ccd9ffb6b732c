import { energyCostToCsv, intervalCost, sessionCost } from '../../contract/energy-cost.ts'
import { meterBatchRead, meterBatchRetrieve } from '../../contract/meter-batch.ts'
import { meterRecordList, meterRecordRetrieve, storedRecordsToCsv } from '../../contract/meter-record-read.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { CostReads } from './cost-reads.ts'
import { calculateIntervalCost } from './interval-costs.ts'
import { retrieveBatch } from './meter-batches.ts'
import { listRecords, retrieveRecord } from './meter-records.ts'
import { calculateSessionCost } from './session-costs.ts'

/** Bind the readings of costs, records and receipts. */
export const costOperations = (reads: CostReads): readonly Binding[] => [
  bind(intervalCost, request => calculateIntervalCost(reads, request), energyCostToCsv),
  bind(sessionCost, request => calculateSessionCost(reads, request), energyCostToCsv),
  bind(meterBatchRetrieve, request => retrieveBatch(reads, request, request.query.batch_id)),
  bind(meterBatchRead, request => retrieveBatch(reads, request, request.id)),
  bind(meterRecordRetrieve, request => retrieveRecord(reads, request)),
  bind(meterRecordList, request => listRecords(reads, request), storedRecordsToCsv),
]
