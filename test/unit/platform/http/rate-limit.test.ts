import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../services/platform/config/config.ts'
import { defaultLimits } from '../../../../services/platform/http/binding.ts'
import { createRateLimit } from '../../../../services/platform/http/rate-limit.ts'

describe('the rate of an account and mode', () => {
  it('is 200 requests per second with a burst of 1,000 by default; 0 sets no limit', () => {
    expect([readConfig({}).rateLimitPerSecond, readConfig({ WATTLEDGER_RATE_LIMIT: '0' }).rateLimitPerSecond]).toEqual([
      200,
      null,
    ])
    expect(defaultLimits.wrongKeysPerMinute).toEqual({ perPeer: 60, perAccountAndPeer: 10 })
  })

  it('allows a burst of 1,000 and refuses request 1,001, until 5 ms later', () => {
    const take = createRateLimit(200)
    const taken = Array.from({ length: 1_000 }, () => take('acc_1 true', null, 0).isAllowed)
    expect(taken.every(allowed => allowed)).toBe(true)
    const refused = take('acc_1 true', null, 0)
    expect(refused).toEqual({
      isAllowed: false,
      headers: { 'RateLimit-Limit': '1000', 'RateLimit-Remaining': '0', 'RateLimit-Reset': '5', 'Retry-After': '1' },
    })
    expect(take('acc_1 true', null, 4).isAllowed).toBe(false)
    expect([take('acc_1 true', null, 5).isAllowed, take('acc_1 true', null, 5).isAllowed]).toEqual([true, false])
    expect(take('acc_1 false', null, 5).isAllowed).toBe(true)
  })

  it('allows 200 evenly spread requests per second', () => {
    const take = createRateLimit(200)
    for (let index = 0; index < 10_000; index += 1) expect(take('acc_1 true', null, index * 5).isAllowed).toBe(true)
  })

  it('of an account replaces the default limit', () => {
    const take = createRateLimit(null)
    expect(take('acc_1 true', null, 0)).toEqual({ isAllowed: true, headers: {} })
    const own = Array.from({ length: 11 }, () => take('acc_2 true', 2, 0).isAllowed)
    expect(own).toEqual([...Array.from({ length: 10 }, () => true), false])
  })

  it('is stored for active accounts only', () => {
    const take = createRateLimit(1)
    for (let index = 0; index < 25_000; index += 1) take(`acc_${index} true`, null, index * 1_000)
    expect(take('acc_0 true', null, 25_000_000).headers['RateLimit-Remaining']).toBe('4')
  })
})
