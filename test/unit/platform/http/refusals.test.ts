import { beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '../../../../services/platform/failure.ts'
import type { Ports } from '../../../../services/platform/http/binding.ts'
import { send, testApp } from '../../../support/http/http-app.ts'

const refusedWith = (recorded: NonNullable<Ports['onRefusal']>) =>
  send(testApp({}, { onRefusal: recorded }).app, 'POST', '/things', { body: { name: 'refuse' } })

it('a refusal is answered after its event is stored, otherwise the client must retry', async () => {
  const seen: string[] = []
  const recorded = await refusedWith(async () => void seen.push('recorded'))
  expect([recorded.status, seen]).toEqual([400, ['recorded']])
  const away = await refusedWith(() =>
    Promise.reject(new Failure('store_away', 'The store is unavailable.', { retriable: true })),
  )
  expect([away.status, away.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
})

it('a refusal is answered even if its event can never be stored', async () => {
  const answer = await refusedWith(() => Promise.reject(new TypeError('no such thing')))
  expect(answer.status).toBe(400)
})

it('the body of a refused request is parsed when its event needs the body', async () => {
  const read: unknown[] = []
  await refusedWith(async ({ readBody }) => void read.push(await readBody()))
  expect(read).toEqual([{ name: 'refuse' }])
})

describe('a refusal before the body is read', () => {
  const seen: { readonly id: string; readonly code: string }[] = []
  const refused: Ports['onRefusal'] = async ({ id, refusal }) => void seen.push({ id, code: refusal.code })
  const body = { name: 'a' }
  const { app } = testApp({}, { onRefusal: refused })
  beforeEach(() => void seen.splice(0))

  it.each([
    [
      'a key without the right',
      403,
      { id: '', code: 'insufficient_scope' },
      'POST',
      '/things',
      { token: 'read', body },
    ],
    [
      'a body that is too large',
      413,
      { id: '', code: 'body_too_large' },
      'POST',
      '/things',
      { body: 'x'.repeat(2 ** 20 + 1) },
    ],
    [
      'a type of no use',
      415,
      { id: '', code: 'media_type_unsupported' },
      'POST',
      '/things',
      { body, headers: { 'content-type': 'text/plain' } },
    ],
    [
      'no gzip',
      400,
      { id: '', code: 'body_invalid' },
      'POST',
      '/things',
      { body, headers: { 'content-encoding': 'gzip' } },
    ],
    ['an id that is none', 404, { id: '', code: 'not_found' }, 'DELETE', '/things/a%00', {}],
    [
      'a key without the right to an object',
      403,
      { id: 'a', code: 'insufficient_scope' },
      'DELETE',
      '/things/a',
      { token: 'read' },
    ],
  ] as const)('emits one event: %s', async (_, status, told, method, path, request) => {
    expect((await send(app, method, path, request)).status).toBe(status)
    expect(seen).toEqual([told])
  })

  it('emits no event without a caller, and none for a rate limit', async () => {
    const twice = testApp({ requestsPerSecond: 1 }, { onRefusal: refused, elapsed: () => 0 }).app
    for (let index = 0; index < 5; index += 1) await send(twice, 'POST', '/things', { body })
    const statuses = [
      await send(twice, 'POST', '/things', { body }),
      await send(app, 'POST', '/things', { token: 'unknown', body }),
      await send(app, 'POST', '/flow', { token: null, body: '' }),
      await send(app, 'GET', '/things'),
    ].map(({ status }) => status)
    expect(statuses).toEqual([429, 401, 409, 405])
    expect(seen).toEqual([])
  })
})
