import { describe, expect, it } from 'vitest'
import { type SignInFailure, signInFailureCounter } from '../../../../services/platform/access/sign-in-failures.ts'

const minute = 60_000
const failure: SignInFailure = {
  accountId: 'acc_1',
  liveMode: true,
  action: 'user.sign_in_failed',
  objectId: 'usr_1',
  reason: 'wrong_password',
  peer: '192.0.2.1',
}

describe('the counter of failed sign-ins', () => {
  it('joins failures of one user and peer, with their number and times', () => {
    const counter = signInFailureCounter()
    for (const at of [5, 1, 9]) counter.add(failure, at)
    counter.add({ ...failure, peer: '192.0.2.2' }, 3)
    const { accountId, liveMode, ...one } = failure
    expect(counter.take(minute + 5, false)).toEqual([
      {
        accountId,
        liveMode,
        failures: [
          { ...one, attempts: 3, firstAt: 1, lastAt: 9 },
          { ...one, peer: '192.0.2.2', attempts: 1, firstAt: 3, lastAt: 3 },
        ],
      },
    ])
    expect(counter.take(minute * 100, false)).toEqual([])
  })

  it('returns them a minute after the first one, and at a stop at once', () => {
    const counter = signInFailureCounter()
    counter.add(failure, 0)
    expect(counter.take(minute - 1, false)).toEqual([])
    expect(counter.take(minute, false)).toHaveLength(1)
    counter.add(failure, minute + 1)
    expect(counter.take(minute + 1, true)).toHaveLength(1)
  })

  it('has at most 22 counts of a tenant each time, whatever the peers, and loses no attempt', () => {
    const counter = signInFailureCounter()
    for (let peer = 0; peer < 5_000; peer += 1) {
      counter.add({ ...failure, peer: `peer ${peer}` }, peer)
      counter.add(
        { ...failure, action: 'api_key.sign_in_failed', objectId: `key ${peer}`, reason: 'revoked_key' },
        peer,
      )
    }
    const [tenant] = counter.take(minute, false)
    expect(tenant?.failures).toHaveLength(22)
    expect(tenant?.failures.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(10_000)
    expect(tenant?.failures.filter(({ peer }) => peer === null)).toMatchObject([
      { action: 'user.sign_in_failed', objectId: null, attempts: 4_990 },
      { action: 'api_key.sign_in_failed', objectId: null, attempts: 4_990 },
    ])
  })

  it('returns the counts of a tenant less often while failures continue: 28 times a day', () => {
    const counter = signInFailureCounter()
    let times = 0
    for (let at = 0; at < 24 * 60 * minute; at += 10_000) {
      counter.add(failure, at)
      times += counter.take(at, false).length
    }
    // After 1, 2, 4, 8, 16 and 32 minutes, then every 60 minutes: (1,440 − 63) / 60 = 22.95 times.
    expect(times).toBe(6 + 22)
  })

  it('begins with a minute again after a rest', () => {
    const counter = signInFailureCounter()
    counter.add(failure, 0)
    expect(counter.take(minute, false)).toHaveLength(1)
    expect(counter.take(3 * minute, false)).toEqual([])
    counter.add(failure, 10 * minute)
    expect(counter.take(11 * minute, false)).toHaveLength(1)
  })

  it('counts at most 1,000 tenants, and says how many failures it left out', () => {
    const counter = signInFailureCounter()
    for (let index = 0; index < 1_003; index += 1) counter.add({ ...failure, accountId: `acc_${index}` }, 0)
    expect([counter.takeUncounted(), counter.takeUncounted()]).toEqual([3, 0])
    expect(counter.take(minute, false)).toHaveLength(1_000)
    counter.forget({ accountId: 'acc_1', liveMode: true })
    counter.add({ ...failure, accountId: 'acc_1002' }, 0)
    expect(counter.takeUncounted()).toBe(0)
  })

  it('keeps failures that could not be stored', () => {
    const counter = signInFailureCounter()
    counter.add(failure, 1)
    const [taken] = counter.take(minute + 1, false)
    counter.add(failure, minute + 2)
    if (taken !== undefined) counter.putBack(taken, minute + 2)
    const [again] = counter.take(minute * 10, true)
    expect(again?.failures).toMatchObject([{ attempts: 2, firstAt: 1, lastAt: minute + 2 }])
  })
})
