// Performs calls of operations from standard input, and prints the faults as a JSON list.
// The answer of each call, written again, must be the text on the wire.
import { json } from 'node:stream/consumers'
import * as earlier from '../dist/earlier.js'
import * as current from '../dist/index.js'

const { version, base_url: baseUrl, account_id: accountId, api_key: apiKey, calls } = await json(process.stdin)
const { createClient, parseExact, writeExact } = version === 'current' ? current : earlier

const texts = []
const client = createClient({
  ...{ baseUrl, accountId, apiKey },
  fetch: async (...words) => {
    const response = await fetch(...words)
    texts.push(await response.clone().text())
    return response
  },
})

const methodName = id => id.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())

/** Perform a call, and return its answer: for a list the first page, for a download its text. */
const perform = async ({ id, path, query, body, accept }) => {
  const input = { path, query, ...(body === null ? {} : { body: parseExact(body, new Set()) }) }
  if (accept !== null) return await new Response(await client.download(methodName(id), accept, input)).text()
  const answer = await client[methodName(id)](input)
  return answer !== undefined && 'page' in answer ? await answer.page() : answer
}

const faults = []
for (const call of calls) {
  try {
    const answer = await perform(call)
    if (call.accept === null && writeExact(answer) !== texts.at(-1)) faults.push(`${call.id} changed ${texts.at(-1)}`)
  } catch (error) {
    faults.push(`${call.id}: ${error}`)
  }
}
console.log(JSON.stringify(faults))
