// A worker loads this module once, so `fetch` is replaced once for all files of the worker.
import { subscribe } from 'node:diagnostics_channel'
import { answerChannel, type ReceivedAnswer } from '../../../services/contract/call.ts'
import { undocumentedCodes } from '../openapi/undocumented-codes.ts'

const { fetch: send } = globalThis
const checks: Promise<void>[] = []

const check = async (method: string, url: string, copy: Response): Promise<void> => {
  // The modules of the contract are large, and few unit tests get an error answer over HTTP.
  const { checkAnswer } = await import('../openapi/documented-answers.ts')
  await checkAnswer(method, url, copy)
}

/** Check each error answer that a test receives over HTTP with the OpenAPI documents, beside the test. */
globalThis.fetch = async (input, init) => {
  const response = await send(input, init)
  // Other servers of tests have no such header.
  if (response.status < 400 || !response.headers.has('api-version')) return response
  const request = input instanceof Request ? input : { method: 'GET', url: String(input) }
  checks.push(check(init?.method ?? request.method, request.url, response.clone()))
  return response
}

const misfits = new Set<string>()

/** Check each answer that a call of the console or the command line receives with the shape of its operation. */
subscribe(answerChannel, message => {
  const { id, shape, answer } = message as ReceivedAnswer
  const read = shape.safeParse(answer)
  for (const { path, message: reason } of read.error?.issues ?? []) misfits.add(`${id} ${path.join('.')}: ${reason}`)
})

const takeAll = (found: Set<string>): readonly string[] => {
  const all = [...found]
  found.clear()
  return all
}

/**
 * Wait for the checks of a test file. Return the operations and codes that no document lists, and the answers that do not
 * fit the shapes of their operations. Forget both.
 */
export const endChecks = async () => {
  await Promise.all(checks.splice(0))
  return { codes: takeAll(undocumentedCodes), misfits: takeAll(misfits) }
}
