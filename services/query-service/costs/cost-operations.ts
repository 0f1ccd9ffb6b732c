import { energyCostToCsv, intervalCost, sessionCost } from '../../contract/costs/energy-cost.ts'
import { meterBatchRead, meterBatchRetrieve } from '../../contract/metering/meter-batch.ts'
import { meterRecordList, meterRecordRetrieve, storedRecordsToCsv } from '../../contract/metering/meter-record-read.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { CostDependencies } from './cost-dependencies.ts'
import { calculateIntervalCost } from './interval-costs.ts'
import { listRecords, retrieveRecord } from './meter-records.ts'
import { retrieveBatch } from './retrieve-batch.ts'
import { calculateSessionCost } from './session-costs.ts'

/** Bind the readings of costs, records and receipts. */
export const costOperations = (dependencies: CostDependencies): readonly Binding[] => [
  bind(intervalCost, request => calculateIntervalCost(dependencies, request), energyCostToCsv),
  bind(sessionCost, request => calculateSessionCost(dependencies, request), energyCostToCsv),
  bind(meterBatchRetrieve, request => retrieveBatch(dependencies, request, request.query.batch_id)),
  bind(meterBatchRead, request => retrieveBatch(dependencies, request, request.id)),
  bind(meterRecordRetrieve, request => retrieveRecord(dependencies, request)),
  bind(meterRecordList, request => listRecords(dependencies, request), storedRecordsToCsv),
]
