import type { WorkTable } from '../../platform/work-thread/work-messages.ts'
import { amountWork } from './amount-work.ts'
import { intervalCostWork, sessionCostWork } from './cost-work.ts'
import { eventDataWork, eventsWork } from './event-work.ts'
import { forecastWork } from './forecast-work.ts'
import { auditWork, durationWork, limitWork, marketPricesWork, priceWork } from './price-work.ts'
import { recordListWork, recordWork } from './record-work.ts'
import { simulationWork } from './simulation-work.ts'
import { statementLinesTableWork, statementPageWork, statementTableWork, statementWork } from './statement-work.ts'

/** Functions of the long work of the query service, by name. */
export const workTable = {
  amount: amountWork,
  audit: auditWork,
  duration: durationWork,
  eventData: eventDataWork,
  events: eventsWork,
  forecast: forecastWork,
  intervalCost: intervalCostWork,
  limit: limitWork,
  marketPrices: marketPricesWork,
  price: priceWork,
  record: recordWork,
  recordList: recordListWork,
  sessionCost: sessionCostWork,
  simulation: simulationWork,
  statement: statementWork,
  statementLinesTable: statementLinesTableWork,
  statementPage: statementPageWork,
  statementTable: statementTableWork,
} as const satisfies WorkTable
