import { describe, expect, it } from 'vitest'
import type { Hours, Tariff } from '../../services/domain/tariff/tariff.ts'
import { speakingTariff, statusOfKind, structureType } from '../../services/query-service/registry/location-tariffs.ts'

const year = (n: number) => Date.UTC(n, 0, 1)
type Contract = Pick<Tariff, 'id' | 'direction' | 'type' | 'contractStart' | 'contractEnd'>
const tariff = (id: string, from: number | null, to: number | null): Contract => ({
  id,
  direction: 'IMPORT',
  type: 'COMMODITY',
  contractStart: from === null ? null : year(from),
  contractEnd: to === null ? null : year(to),
})

describe('the tariff that speaks for its kind', () => {
  const past = tariff('past', null, 2024)
  const now = tariff('now', 2025, 2026)
  const next = tariff('next', 2027, null)

  it.each<[string, Contract[], number, string | undefined]>([
    ['the one whose contract runs', [next, past, now], year(2025), 'now'],
    ['before it, the one that goes on', [past, now, next], year(2024), 'past'],
    ['after it, the one that goes on', [past, now, next], year(2026), 'now'],
    ['before the first, the first', [next, now], year(2020), 'now'],
    ['none of another kind', [{ ...now, direction: 'EXPORT' }], year(2025), undefined],
  ])('is %s', (_, tariffs, at, id) => {
    expect(speakingTariff(tariffs, 'commodity_import', at)?.id).toBe(id)
  })
})

describe('the status of a kind', () => {
  it('is that of the tariff that speaks for it', () => {
    expect(statusOfKind('local', { status: 'ERROR' })).toBe('ERROR')
    expect(statusOfKind('local', undefined)).toBe('NOT_CONNECTED')
    expect(statusOfKind('non_commodity_export', undefined)).toBe('NOT_SUPPORTED')
  })
})

describe('the structure of a tariff', () => {
  const band = (validFrom: number, validTo: number): Hours => ({
    validFrom,
    validTo,
    rate: [
      { fixed: 1n, to: 5n, surchargeFixed: 0n, surchargePercentage: 0n },
      { fixed: 2n, to: null, surchargeFixed: 0n, surchargePercentage: 0n },
    ],
  })
  const schedule = (...hours: Hours[]) => [{ months: ['All' as const], dates: [], daysAndHours: [{ days: ['All' as const], hours }] }]

  it.each([
    ['FIXED', false, schedule(band(0, 86_400))],
    ['TIME_OF_DAY', false, schedule(band(0, 21_600), band(21_600, 86_400))],
    ['MARKET', true, schedule(band(0, 86_400))],
    ['DYNAMIC', true, schedule(band(0, 21_600), band(21_600, 86_400))],
  ])('is %s', (structure, marketRates, entries) => {
    expect(structureType({ marketRates, contractStart: null, schedule: entries }, 0)).toBe(structure)
  })
})
