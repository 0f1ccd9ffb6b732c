import type { ApiCall } from './api-requests.ts'

/** Request that sends the first record, for empty pages. */
export const firstRecord = (more: object = {}): ApiCall => ({
  method: 'PUT',
  path: '/meters/interval',
  body: [
    {
      ...{ location_id: 'loc_…', units: 'KWH', value: 1.25 },
      ...{ start_time: '2026-01-15T12:00:00Z', end_time: '2026-01-15T12:15:00Z' },
      ...more,
    },
  ],
})

/** Request that calculates a statement, for empty pages. */
export const firstStatement: ApiCall = {
  ...{ method: 'POST', path: '/statements/loc_…', body: { start_date: '2026-01-01', end_date: '2026-02-01' } },
}

/** Request that reads prices, for empty pages. */
export const firstPrices: ApiCall = {
  ...{ method: 'POST', path: '/prices/loc_…' },
  body: { start_time: '2026-01-15T00:00:00Z', end_time: '2026-01-16T00:00:00Z' },
}

/** Request that compares stored costs with those of a plan, for empty pages. */
export const firstSimulation: ApiCall = {
  ...{ method: 'POST', path: '/simulations' },
  body: {
    ...{ object_ids: ['loc_…'], start_date: '2026-01-01', end_date: '2026-02-01' },
    candidates: [{ name: 'Plan B', plan_id: 'pln_…' }],
  },
}

/** Request that calculates a schedule, for empty pages. */
export const firstSchedule = (start: string, end: string): ApiCall => ({
  ...{ method: 'POST', path: '/schedules/amount/loc_…' },
  body: {
    data: [
      {
        ...{ device_id: 'dev_…', start_time: start, end_time: end },
        ...{ max_power: { units: 'KW', value: 11 }, energy: { units: 'KWH', value: 22 } },
      },
    ],
  },
})

/** Request that creates a webhook endpoint, for empty pages. */
export const firstEndpoint: ApiCall = {
  ...{ method: 'POST', path: '/webhooks', body: { url: 'https://example.com/wattledger', event_types: ['*'] } },
}
