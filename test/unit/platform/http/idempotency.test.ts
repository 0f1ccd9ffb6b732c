import { describe, expect, it } from 'vitest'
import { keysInMemory, send, testApp } from '../../../support/http/http-app.ts'

const post = (
  app: ReturnType<typeof testApp>['app'],
  name: string,
  { key = 'k', path = '/things', version = '2025-09-14' } = {},
) => send(app, 'POST', path, { body: { name }, headers: { 'idempotency-key': key, 'api-version': version } })

describe('an Idempotency-Key', () => {
  it('returns the same answer again, and the work is done once', async () => {
    const { app, created } = testApp()
    const [first, second] = [await post(app, 'a'), await post(app, 'a')]
    expect([second.status, second.text]).toEqual([first.status, first.text])
    expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([
      null,
      'true',
    ])
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    expect(created).toHaveLength(1)
  })

  it('belongs to one request: another body, query or version is refused', async () => {
    const { app, created } = testApp()
    await post(app, 'a')
    for (const other of [
      await post(app, 'b'),
      await post(app, 'a', { path: '/things?loud=1' }),
      await post(app, 'a', { version: '2024-08-24' }),
    ]) {
      expect(other).toMatchObject({ status: 422, json: { code: 'idempotency_mismatch' } })
    }
    expect(created).toHaveLength(1)
  })

  it('admits one of two concurrent requests', async () => {
    const { app, created } = testApp()
    const answers = await Promise.all([post(app, 'wait'), post(app, 'wait')])
    const statuses = answers.map(answer => answer.status).toSorted()
    expect(statuses).toEqual([201, 409])
    expect(answers.find(answer => answer.status === 409)?.json).toMatchObject({ code: 'idempotency_in_progress' })
    expect(answers.find(answer => answer.status === 409)?.headers.get('retry-after')).toBe('1')
    expect(created).toHaveLength(1)
  })

  it('stays free after a refused body or operation', async () => {
    const { app } = testApp()
    expect((await post(app, 'refuse')).status).toBe(400)
    expect((await post(app, '')).status).toBe(400)
    expect((await post(app, 'a')).status).toBe(201)
  })

  it('is ignored for a simulation', async () => {
    const { app } = testApp()
    expect((await post(app, 'a', { path: '/things?non_persistent=true' })).status).toBe(201)
    expect((await post(app, 'b', { path: '/things?non_persistent=true' })).status).toBe(201)
  })

  it('is refused when empty', async () => {
    const { app } = testApp()
    expect((await post(app, 'a', { key: '' })).json).toMatchObject({ code: 'header_invalid' })
  })

  it('does not hide a change whose answer could not be saved', async () => {
    const keys = { ...keysInMemory(), finish: () => Promise.reject(new Error('away')) }
    const { app, logged } = testApp({}, { idempotency: keys })
    expect((await post(app, 'a')).status).toBe(201)
    expect(logged).toHaveLength(1)
  })
})
