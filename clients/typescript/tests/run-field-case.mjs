// Performs one step of a program with readings of the field. The step is in standard input. Prints its outcome as JSON.
import { text } from 'node:stream/consumers'
import { createClient, parseExact, writeExact } from '../dist/index.js'

const { base_url: baseUrl, api_key: apiKey, step, input } = parseExact(await text(process.stdin), new Set(['time']))
const client = createClient({ baseUrl, apiKey })

/** Return the accepted and failed records of batches after all are processed. */
const outcomeOf = async batches => {
  let accepted = 0
  const failed_records = []
  for (const { id, records_accepted, failed_records: early } of batches) {
    const receipt = await client.waitForBatch(id)
    accepted += records_accepted
    // The receipt of the upload says more about a duplicate.
    const errors = new Map(early.map(one => [one.record_num, one.error]))
    failed_records.push(
      ...receipt.failed_records.map(one => ({ ...one, error: errors.get(one.record_num) ?? one.error })),
    )
  }
  return { accepted, failed_records }
}

const steps = {
  readings: async body => outcomeOf([await client.meterCumulativeSubmit({ body })]),
  csv: async ({ text, query }) => outcomeOf([await client.submitCsv(text, query)]),
  records: async records => {
    const batches = []
    for await (const batch of client.submitRecords(records)) batches.push(batch)
    return outcomeOf(batches)
  },
  table: async ({ accept, query }) => new Response(await client.download('meterRecordList', accept, { query })).text(),
  costs: async ({ id, body }) => client.intervalCostCalculate({ path: { id }, body }),
}

console.log(writeExact(await steps[step](input)))
