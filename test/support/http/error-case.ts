import { expect } from 'vitest'
import { errorMembers } from './error-object.ts'
import { send, testApp } from './http-app.ts'

/** A request that is refused, and its expected error. */
export type ErrorCase = {
  readonly title: string
  readonly request: Parameters<typeof send> extends [unknown, ...infer Rest] ? Rest : never
  readonly status: number
  readonly code: string
  readonly context: string
  readonly headers?: Readonly<Record<string, string | null>>
  readonly message?: RegExp
}

/** Expect the error object of a case as the answer, without internal information. */
export const expectError = async ({
  request: [method, path, options],
  status,
  code,
  context,
  headers = {},
  message,
}: ErrorCase): Promise<void> => {
  const { app } = testApp()
  const answer = await send(app, method, path, options)
  expect(answer.json).toMatchObject({
    object: 'error',
    code,
    context,
    request_id: 'req_1',
    time_created: '2025-09-14T10:00:00.000Z',
  })
  expect(answer.status).toBe(status)
  expect(Object.keys(answer.json).filter(name => !errorMembers.includes(name))).toEqual([])
  expect(answer.json.type).toBe(status >= 500 ? 'api_error' : 'invalid_request')
  expect(answer.text).not.toContain('SECRET')
  expect(answer.json.message).toMatch(message ?? /^[A-Z"a-z].*[.?]$/)
  expect(answer.headers.get('x-request-id')).toBe('req_1')
  expect(answer.headers.get('api-version')).toMatch(/^20/)
  for (const [name, value] of Object.entries(headers)) expect(answer.headers.get(name), name).toBe(value)
}
