// Uploads records with decimals from standard input, reads them from a list, and prints the texts by reference.
import { json } from 'node:stream/consumers'
import { createClient, decimal } from '../dist/index.js'

const { base_url: baseUrl, api_key: apiKey, location_id, records } = await json(process.stdin)
const client = createClient({ baseUrl, apiKey })

const processed = []
const body = records.map(one => ({ ...one, location_id, units: 'WH', value: decimal(one.value) }))
for await (const { id } of client.submitRecords(body)) processed.push((await client.waitForBatch(id)).records_processed)
const read = {}
for await (const record of client.meterRecordList({ query: { location_id, limit: 100 } }))
  read[record.data.record_reference_id] = record.energy_submitted.text
console.log(JSON.stringify({ processed, read }))
