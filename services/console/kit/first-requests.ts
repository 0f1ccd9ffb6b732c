import { type CallRequest, callRequest } from '../../contract/call.ts'
import { webhookCreate } from '../../contract/events/webhook-endpoint.ts'
import { meterIntervalSubmit } from '../../contract/metering/meter-batch.ts'
import { priceRetrieve } from '../../contract/prices/price.ts'
import { scheduleAmount } from '../../contract/schedules/schedule-amount.ts'
import { simulationCreate } from '../../contract/simulations/simulation.ts'
import { statementCreate } from '../../contract/statements/statement-operations.ts'

const location = { id: 'loc_…' }

/** Request that sends the first record, for empty pages. */
export const firstRecord = (more: object = {}): CallRequest =>
  callRequest(meterIntervalSubmit, {}, [
    {
      location_id: 'loc_…',
      units: 'KWH',
      value: 1.25,
      start_time: '2026-01-15T12:00:00Z',
      end_time: '2026-01-15T12:15:00Z',
      ...more,
    },
  ])

/** Request that calculates a statement, for empty pages. */
export const firstStatement = callRequest(statementCreate, location, {
  start_date: '2026-01-01',
  end_date: '2026-02-01',
})

/** Request that reads prices, for empty pages. */
export const firstPrices = callRequest(priceRetrieve, location, {
  start_time: '2026-01-15T00:00:00Z',
  end_time: '2026-01-16T00:00:00Z',
})

/** Request that compares stored costs with those of a plan, for empty pages. */
export const firstSimulation = callRequest(
  simulationCreate,
  {},
  {
    object_ids: ['loc_…'],
    start_date: '2026-01-01',
    end_date: '2026-02-01',
    candidates: [{ name: 'Plan B', plan_id: 'pln_…' }],
  },
)

/** Request that calculates a schedule, for empty pages. */
export const firstSchedule = (start: string, end: string): CallRequest =>
  callRequest(scheduleAmount, location, {
    data: [
      {
        device_id: 'dev_…',
        start_time: start,
        end_time: end,
        max_power: { units: 'KW', value: 11 },
        energy: { units: 'KWH', value: 22 },
      },
    ],
  })

/** Request that creates a webhook endpoint, for empty pages. */
export const firstEndpoint = callRequest(
  webhookCreate,
  {},
  { url: 'https://example.com/wattledger', event_types: ['*'] },
)
