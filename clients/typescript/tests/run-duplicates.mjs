// Uploads hours of electricity, then gas of the same hours. Prints the counts and the failed records.
import { json } from 'node:stream/consumers'
import { createClient, decimal } from '../dist/index.js'

const { base_url: baseUrl, api_key: apiKey, location_ids, count } = await json(process.stdin)
const client = createClient({ baseUrl, apiKey })
const hourMs = 3_600_000
const begin = Date.UTC(2025, 0, 1)

// The electricity is repeated with equal values at the end.
const rows = function* () {
  for (const value of ['1', '0.1', '1.00']) {
    for (let hour = 0; hour < count; hour += 1) {
      const [start_time, end_time] = [hour, hour + 1].map(at => new Date(begin + at * hourMs).toISOString())
      yield { location_id: location_ids[0], units: 'KWH', value: decimal(value), start_time, end_time }
    }
  }
}

const failed = []
const batches = []
let accepted = 0
for await (const { id, records_accepted, failed_records } of client.submitRecords(rows())) {
  accepted += records_accepted
  batches.push(id)
  for (const { error } of failed_records) failed.push(error)
}
for (const id of batches) await client.waitForBatch(id)
console.log(JSON.stringify([{ accepted, failed: failed.length, first: failed[0], last: failed.at(-1) }]))
