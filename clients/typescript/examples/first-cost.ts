import { createClient, decimal } from '@wattledger/client'

const { URL: baseUrl = 'http://127.0.0.1:8080', KEY: apiKey = '' } = process.env
const client = createClient({ baseUrl, apiKey })

const location = await client.locationCreate({ body: { postal_address: { city: 'Berlin', country_code: 'DE' } } })
const night = { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: decimal('0.21') }] }
const day = { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: decimal('0.32') }] }
await client.tariffCreate({
  body: {
    location_id: location.id,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours: [day, night] }] }],
  },
})

const records = [
  {
    location_id: location.id,
    units: 'KWH' as const,
    value: decimal('7.4'),
    start_time: '2026-01-15T21:00:00+01:00',
    end_time: '2026-01-15T23:00:00+01:00',
  },
]
for await (const batch of client.submitRecords(records)) await client.waitForBatch(batch.id)

const cost = await client.intervalCostCalculate({
  path: { id: location.id },
  body: { start_time: '2026-01-15T00:00:00+01:00', end_time: '2026-01-16T00:00:00+01:00' },
})
console.log(cost.data[0]?.tariff.cost.value?.text)
