import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admission } from '../../services/platform/http/admission.ts'
import { remove, retrieve, send, submit, testApp } from '../support/http-app.ts'

const least = 16_384
const path = '/meters/interval'

/** A submission whose body is under way until it is told to end. */
const held = (app: ReturnType<typeof testApp>['app'], token: string) => {
  let end: () => void = () => undefined
  const body = new ReadableStream({
    start: controller => {
      end = () => controller.close()
    },
  })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': '1' }
  const answered = Promise.resolve(app.request(`http://test${path}`, { method: 'PUT', headers, body, duplex: 'half' } as RequestInit))
  return {
    end: async () => {
      end()
      return (await answered).status
    },
  }
}

/** Statuses of what is asked for while the others are under way. */
const statuses = async (app: ReturnType<typeof testApp>['app']) => ({
  testMode: (await send(app, 'PUT', path, { body: [], headers: { 'content-length': '2' } })).status,
  live: (await send(app, 'PUT', path, { token: 'live', body: [], headers: { 'content-length': '2' } })).status,
  read: (await send(app, 'GET', '/things/a', { token: 'live' })).status,
  other: (await send(app, 'DELETE', '/things/a')).status,
})

describe('more work than a process can do', () => {
  it('is refused in an order: reads and test mode first, submissions of live mode last, and all come in again', async () => {
    const { app } = testApp({ underWay: { submissionBytes: 4 * least, reads: 4 } })
    const [first, second] = [held(app, 'all'), held(app, 'live')]
    expect(await statuses(app)).toEqual({ testMode: 503, live: 200, read: 200, other: 202 })
    const third = held(app, 'live')
    expect(await statuses(app)).toEqual({ testMode: 503, live: 200, read: 503, other: 202 })
    const fourth = held(app, 'live')
    expect(await statuses(app)).toEqual({ testMode: 503, live: 503, read: 503, other: 202 })
    const refused = await send(app, 'PUT', path, { token: 'live', body: [] })
    expect(refused).toMatchObject({
      status: 503,
      json: { code: 'unavailable', message: 'The service is busy; send the request again later.' },
    })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(await Promise.all([first, second, third, fourth].map(one => one.end()))).toEqual([200, 200, 200, 200])
    expect(await statuses(app)).toEqual({ testMode: 200, live: 200, read: 200, other: 202 })
  })

  it('leaves room again after refusals, faults and requests that take too long', async () => {
    const { app } = testApp({ underWay: { submissionBytes: least, reads: 2 }, requestTimeoutMs: 20 })
    for (let round = 0; round < 3; round += 1) {
      expect((await send(app, 'GET', '/trouble/fault', { token: 'live' })).status).toBe(500)
      expect((await send(app, 'PUT', path, { body: '[]', headers: { 'content-type': 'text/plain' } })).status).toBe(415)
    }
    expect((await send(app, 'GET', '/trouble/slow', { token: 'live' })).json.message).toBe(
      'The request took too long; send it again later.',
    )
    expect((await send(app, 'GET', '/trouble/slow', { token: 'live' })).json.message).toBe(
      'The request took too long; send it again later.',
    )
    // Both still work, though they were answered: there is no room for a third.
    expect((await send(app, 'GET', '/things/a', { token: 'live' })).status).toBe(503)
  })

  it('is bounded whatever comes and goes: within the limit or alone, test mode never where live mode is refused', () => {
    const asked = fc.record({
      operation: fc.constantFrom(submit, retrieve, remove),
      liveMode: fc.constantFrom(true, false, undefined),
      length: fc.option(fc.integer({ min: 0, max: 2 ** 24 })),
    })
    const limits = { submissionBytes: 2 ** 25, reads: 6 }
    fc.assert(
      fc.property(fc.array(fc.oneof(asked, fc.nat(20)), { maxLength: 80 }), steps => {
        const gate = admission(limits)
        const under: { readonly leave: () => void; readonly weight: number; readonly isRead: boolean }[] = []
        for (const step of steps) {
          if (typeof step === 'number') {
            for (const { leave } of under.splice(step, 1)) leave()
            continue
          }
          const { operation, liveMode, length } = step
          const headers = new Headers(length === null ? {} : { 'content-length': String(length) })
          const bytes = under.reduce((sum, { weight }) => sum + weight, 0)
          const leave = gate.enter({ operation, liveMode, headers })
          const inLive = leave ?? gate.enter({ operation, liveMode: true, headers })
          if (operation === remove) expect(leave).not.toBeNull()
          if (inLive === null) expect(leave).toBeNull()
          if (leave === null) {
            inLive?.()
            continue
          }
          const weight = operation === submit ? Math.max(least, length ?? 2 ** 20) : 0
          under.push({ leave, weight, isRead: operation === retrieve })
          expect(bytes === 0 || bytes + weight <= limits.submissionBytes).toBe(true)
          expect(under.filter(({ isRead }) => isRead).length).toBeLessThanOrEqual(limits.reads)
        }
      }),
    )
  })
})
