import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fairShare } from '../../../../services/platform/concurrency/fair-share.ts'

const never = new AbortController().signal
const settle = async (): Promise<void> => {
  for (let tick = 0; tick < 10; tick += 1) await Promise.resolve()
}

describe('a fair share', () => {
  it('stays within the limits of all and of each account, and serves each request', async () => {
    const limits = fc.record({ atOnce: fc.integer({ min: 1, max: 4 }), ofAccount: fc.integer({ min: 1, max: 3 }) })
    const works = fc.array(
      fc.record({ account: fc.constantFrom('a', 'b', 'c'), ticks: fc.integer({ min: 1, max: 4 }) }),
      { maxLength: 30 },
    )
    await fc.assert(
      fc.asyncProperty(limits, works, async ({ atOnce, ofAccount }, requests) => {
        const share = fairShare({
          maxConcurrent: atOnce,
          maxConcurrentPerAccount: ofAccount,
          maxWaitingPerAccount: 100,
        })
        const running: string[] = []
        await Promise.all(
          requests.map(async ({ account, ticks }) => {
            const leave = await share.acquire(account, never)
            running.push(account)
            expect(running.length).toBeLessThanOrEqual(atOnce)
            expect(running.filter(one => one === account).length).toBeLessThanOrEqual(ofAccount)
            for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve()
            running.splice(running.indexOf(account), 1)
            leave?.()
            // A second time changes nothing.
            leave?.()
          }),
        )
        expect(running).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('serves accounts in turn, also if one has more and earlier requests', async () => {
    const share = fairShare({ maxConcurrent: 1, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 100 })
    const order: string[] = []
    const ask = async (account: string): Promise<void> => {
      const leave = await share.acquire(account, never)
      order.push(account)
      await settle()
      leave?.()
    }
    const requests = [...'aaaaa'].map(ask)
    await settle()
    await Promise.all([...requests, ask('b'), ask('c'), ask('b')])
    expect(order.length).toBe(8)
    expect(order.indexOf('b')).toBeLessThanOrEqual(2)
    expect(order.indexOf('c')).toBeLessThanOrEqual(3)
    expect(order.lastIndexOf('b')).toBeLessThanOrEqual(5)
  })

  it('refuses requests beyond the waiting limit, and forgets aborted ones', async () => {
    const share = fairShare({ maxConcurrent: 1, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 2 })
    const leave = await share.acquire('a', never)
    const request = new AbortController()
    const second = share.acquire('a', request.signal)
    const third = share.acquire('a', never)
    expect(await share.acquire('a', never)).toBe(null)
    request.abort(new Error('gone'))
    await expect(second).rejects.toThrow('gone')
    const fourth = share.acquire('a', never)
    expect(await share.acquire('a', never)).toBe(null)
    leave?.()
    ;(await third)?.()
    ;(await fourth)?.()
    expect(await share.acquire('a', never)).not.toBe(null)
  })

  it('limits an account with many requests to one slot while another one is served, and to all its slots otherwise', async () => {
    const share = fairShare({
      maxConcurrent: 3,
      maxConcurrentPerAccount: 2,
      maxWaitingPerAccount: 100,
      contentionMs: 60_000,
    })
    let running = 0
    const seen: number[] = []
    const ask = async (): Promise<void> => {
      const leave = await share.acquire('a', never)
      running += 1
      seen.push(running)
      await settle()
      running -= 1
      leave?.()
    }
    const askOften = async (): Promise<readonly number[]> => {
      await Promise.all(Array.from({ length: 20 }, ask))
      // The first requests find an idle share, the last ones compete with few others.
      return seen.splice(0).slice(4, 14)
    }
    expect(Math.max(...(await askOften()))).toBe(2)
    ;(await share.acquire('b', never))?.()
    expect(Math.max(...(await askOften()))).toBe(1)
  })

  /** Create a share of three slots with a clock that the test sets. Counts running and waiting requests by account. */
  const crowdedShare = () => {
    const clock = { at: 0 }
    const share = fairShare({
      maxConcurrent: 3,
      maxConcurrentPerAccount: 2,
      maxWaitingPerAccount: 100,
      contentionMs: 500,
      now: () => clock.at,
    })
    const leaves = new Map<string, (() => void)[]>()
    const ask = (account: string): void => {
      const own = leaves.get(account) ?? []
      leaves.set(account, own)
      void share.acquire(account, never).then(leave => own.push(leave ?? (() => undefined)))
    }
    return {
      /** Let time pass, then leave all places of an account. */
      pass: async (ms: number, account: string): Promise<void> => {
        clock.at += ms
        for (const leave of leaves.get(account)?.splice(0) ?? []) leave()
        await settle()
      },
      ask: async (account: string, times: number): Promise<void> => {
        for (let at = 0; at < times; at += 1) ask(account)
        await settle()
      },
      running: (account: string): number => leaves.get(account)?.length ?? 0,
    }
  }

  it('starts no request of an account with many requests while an account with far less use has running or waiting requests', async () => {
    const { ask, pass, running } = crowdedShare()
    await ask('greedy', 20)
    expect(running('greedy')).toBe(2)
    await pass(200, 'greedy')
    await ask('light', 2)
    expect([running('greedy'), running('light')]).toEqual([2, 1])
    await pass(60, 'greedy')
    expect([running('greedy'), running('light')]).toEqual([0, 2])
    await pass(10, 'light')
    expect([running('greedy'), running('light')]).toEqual([1, 0])
  })

  it('leaves no slot free while accounts with similar use have requests', async () => {
    const { ask, pass, running } = crowdedShare()
    await ask('a', 20)
    await ask('b', 1)
    await pass(80, 'b')
    await pass(1, 'a')
    expect([running('a'), running('b')]).toEqual([2, 0])
    await ask('b', 1)
    await pass(1, 'a')
    expect([running('a'), running('b')]).toEqual([2, 1])
  })

  it('leaves all slots to an account with far less use', async () => {
    const { ask, pass, running } = crowdedShare()
    await ask('greedy', 20)
    await pass(1_000, 'greedy')
    await ask('light', 20)
    await pass(1, 'greedy')
    for (let turn = 0; turn < 9; turn += 1) {
      expect([running('greedy'), running('light')]).toEqual([0, 2])
      await pass(1, 'light')
    }
  })

  it('continues with the account with many requests after the other one has used as much', async () => {
    const { ask, pass, running } = crowdedShare()
    await ask('greedy', 20)
    await pass(100, 'greedy')
    await ask('light', 20)
    await pass(1, 'greedy')
    await pass(300, 'light')
    expect(running('greedy')).toBeGreaterThan(0)
  })

  it('checks waiting accounts again while a slot stays in use', async () => {
    let at = 0
    const share = fairShare({
      maxConcurrent: 3,
      maxConcurrentPerAccount: 2,
      maxWaitingPerAccount: 100,
      contentionMs: 500,
      now: () => at,
    })
    const greedy = Array.from({ length: 12 }, () => share.acquire('greedy', never))
    const first = await Promise.all(greedy.slice(0, 2))
    const slow = share.acquire('slow client', never)
    at = 100
    for (const release of first) release?.()
    expect(await slow).not.toBe(null)
    at = 1_000
    expect(await greedy[2]).not.toBe(null)
  })
})
