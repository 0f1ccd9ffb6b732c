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
