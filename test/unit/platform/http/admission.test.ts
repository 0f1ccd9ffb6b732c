import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Operation } from '../../../../services/contract/operation.ts'
import { admission, type Ticket } from '../../../../services/platform/http/admission.ts'
import { remove, retrieve, send, submit, testApp } from '../../../support/http/http-app.ts'

const minBytes = 16_384
const path = '/meters/interval'

type App = ReturnType<typeof testApp>['app']

/** A submission whose body arrives until the test ends it. `length` is the announced length. */
const openSubmission = (app: App, token: string, length = 1) => {
  let end: () => void = () => undefined
  const body = new ReadableStream({
    start: controller => {
      end = () => controller.close()
    },
  })
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': String(length),
  }
  const answered = Promise.resolve(
    app.request(`http://test${path}`, { method: 'PUT', headers, body, duplex: 'half' } as RequestInit),
  )
  return async () => {
    end()
    return (await answered).status
  }
}

const short = { body: [], headers: { 'content-length': '2' } }

/** Answers while other requests are running. */
const statuses = async (app: App) => ({
  testMode: (await send(app, 'PUT', path, short)).status,
  live: (await send(app, 'PUT', path, { token: 'live', ...short })).status,
  read: (await send(app, 'GET', '/things/a', { token: 'live' })).status,
  testRead: (await send(app, 'GET', '/things/a')).status,
  other: (await send(app, 'DELETE', '/things/a')).status,
})
const all = { testMode: 200, live: 200, read: 200, testRead: 200, other: 202 }

describe('admission under overload', () => {
  it('refuses test mode first, then reads, and live submissions last; all are admitted again later', () => {
    const gate = admission({ maxSubmissionBytes: 16 * minBytes, maxConcurrentReads: 8 })
    const headers = new Headers({ 'content-length': '1' })
    const ask = (operation: Operation, accountId: string, liveMode: boolean) =>
      gate.admit({ operation, caller: { accountId, liveMode }, headers })
    const entered: Ticket[] = []
    const work = (accountId: string, liveMode: boolean, count: number): void => {
      for (let at = 0; at < count; at += 1) {
        const ticket = ask(submit, accountId, liveMode) ?? expect.fail()
        ticket.reportArrival()
        entered.push(ticket)
      }
    }
    const takes = (operation: Operation, accountId: string, liveMode: boolean): boolean => {
      const ticket = ask(operation, accountId, liveMode)
      ticket?.release()
      return ticket !== null
    }
    const now = () => ({
      testMode: takes(submit, 'z', false),
      testRead: takes(retrieve, 'z', false),
      read: takes(retrieve, 'z', true),
      live: takes(submit, 'z', true),
      other: takes(remove, 'z', true),
    })
    const open = { testMode: true, testRead: true, read: true, live: true, other: true }
    // An account counts an eighth of the room: two of them keep reads of others out of nothing, three do.
    work('a', true, 4)
    expect(now()).toEqual(open)
    expect(takes(retrieve, 'a', true)).toBe(true)
    work('a', true, 1)
    expect(takes(retrieve, 'a', true)).toBe(false)
    work('b', false, 3)
    expect(now()).toEqual(open)
    work('c', false, 2)
    expect(now()).toEqual({ ...open, testRead: false })
    work('c', false, 1)
    work('d', true, 1)
    expect(now()).toEqual({ ...open, testMode: false, testRead: false })
    work('d', true, 1)
    work('e', true, 1)
    expect(now()).toEqual({ ...open, testMode: false, testRead: false, read: false })
    work('e', true, 2)
    expect(now()).toEqual({ testMode: false, testRead: false, read: false, live: false, other: true })
    for (const { release: leave } of entered) leave()
    expect(now()).toEqual(open)
  })

  it('keeps the capacity of other accounts while slow bodies of one account arrive, in both of its modes', async () => {
    const { app } = testApp({ admission: { maxSubmissionBytes: 64 * minBytes, maxConcurrentReads: 8 } })
    const ends = Array.from({ length: 300 }, (_, at) =>
      openSubmission(app, at % 2 === 0 ? 'live' : 'all', 8 * minBytes),
    )
    const others = async () => ({
      live: (await send(app, 'PUT', path, { token: 'live-other', ...short })).status,
      testMode: (await send(app, 'PUT', path, { token: 'all-twice', ...short })).status,
      read: (await send(app, 'GET', '/things/a', { token: 'live-other' })).status,
      testRead: (await send(app, 'GET', '/things/a', { token: 'all-twice' })).status,
    })
    expect(await others()).toEqual({ live: 200, testMode: 200, read: 200, testRead: 200 })
    const answered = await Promise.all(ends.map(end => end()))
    expect(answered.filter(status => status === 200).length).toBe(4 + 2)
    expect(await statuses(app)).toEqual(all)
  })

  it('refuses submissions that would wait too long: the capacity follows the pace of the answers', () => {
    let at = 0
    const mebibyte = 2 ** 20
    const gate = admission({ maxSubmissionBytes: 128 * mebibyte, maxConcurrentReads: 8 }, () => at)
    const headers = new Headers({ 'content-length': String(mebibyte) })
    const admitted: Ticket[] = []
    /** Submit bodies of 1 MiB of several accounts until one is refused. Returns how many are in the process. */
    const fill = (): number => {
      for (let account = 0; account < 8; account += 1) {
        const caller = { accountId: `account ${account}`, liveMode: true }
        for (let ticket = gate.admit({ operation: submit, caller, headers }); ticket !== null; ) {
          ticket.reportArrival()
          admitted.push(ticket)
          ticket = gate.admit({ operation: submit, caller, headers })
        }
      }
      return admitted.length
    }
    /** Answer bodies of 1 MiB for some seconds. */
    const answer = (perSecond: number, seconds: number): void => {
      for (let count = 0; count < perSecond * seconds; count += 1) {
        at += 1000 / perSecond
        fill()
        const ticket = admitted.shift() ?? expect.fail()
        ticket.reportAnswer()
        ticket.release()
      }
    }
    expect(fill()).toBe(128)
    answer(6, 60)
    expect(fill()).toBeLessThanOrEqual(26)
    expect(fill()).toBeGreaterThanOrEqual(22)
    answer(100, 20)
    expect(fill()).toBe(128)
  })

  it('of one account leaves half of the capacity to other accounts', async () => {
    const { app } = testApp({ admission: { maxSubmissionBytes: 8 * minBytes, maxConcurrentReads: 4 } })
    const ends = Array.from({ length: 4 }, () => openSubmission(app, 'live'))
    expect((await send(app, 'PUT', path, { token: 'live', ...short })).status).toBe(503)
    expect((await send(app, 'PUT', path, { token: 'live-other', ...short })).status).toBe(200)
    await Promise.all(ends.map(end => end()))
    void send(app, 'GET', '/trouble/slow', { token: 'live' })
    void send(app, 'GET', '/trouble/slow', { token: 'live' })
    expect((await send(app, 'GET', '/things/a', { token: 'live' })).status).toBe(503)
    expect((await send(app, 'GET', '/things/a', { token: 'live-other' })).status).toBe(200)
  })

  it('counts the real size of a body, not the announced one', async () => {
    const { app } = testApp({ admission: { maxSubmissionBytes: 8 * minBytes, maxConcurrentReads: 4 } })
    const end = openSubmission(app, 'live', 3 * minBytes)
    // Unknown length: admitted as the only one of its account, but its bytes exceed the capacity.
    const large = { token: 'live-other', body: `[${' '.repeat(6 * minBytes)}]` }
    expect((await send(app, 'PUT', path, { ...large, headers: { 'content-length': '2' } })).status).toBe(503)
    expect(await end()).toBe(200)
    expect((await send(app, 'PUT', path, { ...large, headers: { 'content-length': '2' } })).status).toBe(200)
  })

  it('releases capacity after refusals, errors and timeouts', async () => {
    const { app } = testApp({
      admission: { maxSubmissionBytes: minBytes, maxConcurrentReads: 4 },
      requestTimeoutMs: 20,
    })
    for (let round = 0; round < 5; round += 1) {
      expect((await send(app, 'GET', '/trouble/fault', { token: 'live' })).status).toBe(500)
      expect((await send(app, 'PUT', path, { body: '[]', headers: { 'content-type': 'text/plain' } })).status).toBe(415)
    }
    const late = 'The request took too long; send it again later.'
    expect((await send(app, 'GET', '/trouble/slow', { token: 'live' })).json.message).toBe(late)
    expect((await send(app, 'GET', '/trouble/slow', { token: 'live' })).json.message).toBe(late)
    // Both still work, though they were answered: the account has no room for a third.
    expect((await send(app, 'GET', '/things/a', { token: 'live' })).status).toBe(503)
  })

  it('stays within its limits for any sequence of requests, and releases all of them', () => {
    const requests = fc.record({
      operation: fc.constantFrom(submit, retrieve, remove),
      caller: fc.record({ accountId: fc.constantFrom('a', 'b', 'c'), liveMode: fc.boolean() }),
      length: fc.option(fc.integer({ min: 0, max: 2 ** 24 })),
      size: fc.integer({ min: 0, max: 2 ** 24 }),
    })
    const limits = { maxSubmissionBytes: 2 ** 25, maxConcurrentReads: 6 }
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 3, arbitrary: requests }, fc.nat(20)), { maxLength: 100 }), steps => {
        const gate = admission(limits)
        const under: { leave: () => void; weight: number; isRead: boolean; name: string; liveMode: boolean }[] = []
        const sum = (of: (one: (typeof under)[number]) => boolean) =>
          under.filter(of).reduce((bytes, { weight }) => bytes + weight, 0)
        for (const step of steps) {
          if (typeof step === 'number') {
            for (const { leave } of under.splice(step, 1)) leave()
            continue
          }
          const { operation, caller, length, size } = step
          const headers = new Headers(length === null ? {} : { 'content-length': String(length) })
          const ticket = gate.admit({ operation, caller, headers })
          if (operation === remove) expect(ticket).not.toBeNull()
          if (ticket === null) continue
          if (!ticket.reportBytes(size)) {
            ticket.release()
            continue
          }
          const [name, liveMode] = [`${caller.accountId} ${caller.liveMode}`, caller.liveMode]
          const weight = operation === submit ? Math.max(minBytes, size) : 0
          const [before, own] = [sum(() => true), sum(one => one.name === name)]
          under.push({ leave: ticket.release, weight, isRead: operation === retrieve, name, liveMode })
          if (weight === 0) continue
          const said = Math.max(minBytes, Math.min(length ?? 2 ** 22, 2 ** 24))
          if (weight > said) {
            expect(before === 0 || before + weight <= limits.maxSubmissionBytes).toBe(true)
            expect(own === 0 || own + weight <= limits.maxSubmissionBytes / 2).toBe(true)
          }
          expect(under.filter(({ isRead }) => isRead).length).toBeLessThanOrEqual(limits.maxConcurrentReads)
        }
        for (const { leave } of under.splice(0)) leave()
        const headers = new Headers({ 'content-length': String(2 ** 24) })
        for (const accountId of ['a', 'b']) {
          const ticket = gate.admit({ operation: submit, caller: { accountId, liveMode: true }, headers })
          expect(ticket).not.toBeNull()
        }
      }),
    )
  })
})
