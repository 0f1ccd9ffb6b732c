import type { WorkTable } from '../../platform/work-thread/work-messages.ts'
import { amountWork } from './amount-work.ts'
import { eventsWork } from './event-work.ts'
import { auditWork, durationWork, limitWork, priceWork } from './price-work.ts'
import { recordListWork, recordWork } from './record-work.ts'

/** The long work of the query service. */
export const workTable = {
  amount: amountWork,
  audit: auditWork,
  duration: durationWork,
  events: eventsWork,
  limit: limitWork,
  price: priceWork,
  record: recordWork,
  recordList: recordListWork,
} as const satisfies WorkTable
