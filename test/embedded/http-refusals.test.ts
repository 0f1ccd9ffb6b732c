import { expect, it } from 'vitest'
import { Failure } from '../../services/platform/failure.ts'
import { send, testApp } from '../support/http-app.ts'

const refusedWith = (recorded: () => Promise<void>) =>
  send(testApp({}, { refused: recorded }).app, 'POST', '/things', { body: { name: 'refuse' } })

it('a refusal is answered once it is recorded, and asked again where that cannot be done now', async () => {
  const seen: string[] = []
  const recorded = await refusedWith(async () => void seen.push('recorded'))
  expect([recorded.status, seen]).toEqual([400, ['recorded']])
  const away = await refusedWith(() => Promise.reject(new Failure('store_away', 'the store is away', { retriable: true })))
  expect([away.status, away.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
})

it('a refusal that can never be recorded is answered all the same', async () => {
  const answer = await refusedWith(() => Promise.reject(new TypeError('no such thing')))
  expect(answer.status).toBe(400)
})
