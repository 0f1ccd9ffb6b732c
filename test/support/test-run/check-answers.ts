import { afterAll } from 'vitest'
import { undocumentedCodes } from '../openapi/undocumented-codes.ts'
import { cpuSeconds } from './cpu-seconds.ts'

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

// Registered before the hooks of the file, so it runs after them: the processes of the file have ended.
// biome-ignore lint/correctness/noEmptyPattern: the runner requires a pattern for its fixtures.
afterAll(({}, { file }) => {
  file.meta.cpuSeconds = cpuSeconds()
})

afterAll(async () => {
  await Promise.all(checks)
  const codes = [...undocumentedCodes]
  if (codes.length === 0) return
  throw new Error(
    `The OpenAPI documents do not list these answers. Add each code to its operation:\n${codes.join('\n')}`,
  )
})
