import { expect, it } from 'vitest'
import type { ChargeTerms } from '../../../../services/domain/charge/charge.ts'
import { workOf } from '../../../../services/query-service/simulations/simulation-units.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { readChargeText } from '../../../support/charges/read-charge-text.ts'

const charge = (body: object): ChargeTerms =>
  acceptedValue(readChargeText(JSON.stringify({ name: 'n', price: 1, ...body })))
const candidate = (charges: readonly ChargeTerms[] | null) => ({
  name: 'c',
  tariffs: null,
  charges,
  planId: null,
  marketSourceId: null,
})
const site = (...charges: readonly ChargeTerms[]) => ({ terms: { charges } })
const plans = new Map()
const days = { startDay: 0, endDay: 100 }

const fee = charge({ kind: 'FIXED' })
const peak = (more: object = {}) => charge({ kind: 'DEMAND', ...more })

it('the work of a simulation is its records for each candidate, and the days of the charges', () => {
  expect(workOf({ ...days, candidates: [candidate([]), candidate([])] }, [site(fee)], plans, 1_000)).toBe(2_000)
  expect(workOf({ ...days, candidates: [candidate([fee, fee])] }, [site(), site()], plans, 7)).toBe(7 + 2 * 200)
  expect(workOf({ ...days, candidates: [candidate(null)] }, [site(fee), site(fee, fee)], plans, 7)).toBe(7 + 300)
})

it('a day of a peak is work of its intervals, also in the earlier months that the peak reads', () => {
  const work = (one: ChargeTerms) => workOf({ ...days, candidates: [candidate([one])] }, [site()], plans, 0)
  // 24, 48 and 96 intervals a day / 8.
  expect([work(peak()), work(peak({ interval_minutes: 30 })), work(peak({ interval_minutes: 15 }))]).toEqual([
    300, 600, 1_200,
  ])
  // 23 and 11 earlier months of 31 days.
  expect(work(peak({ over: 'ROLLING', rolling_months: 24 }))).toBe(3 * (100 + 23 * 31))
  expect(work(peak({ ratchet: { share: 0.8, months: 11 } }))).toBe(3 * (100 + 11 * 31))
})
